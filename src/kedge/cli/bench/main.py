"""`kedge bench`: the measurements, in the order in which help lists them."""

from __future__ import annotations

import typer

from kedge.cli.bench.costs import ledger, paying
from kedge.cli.bench.hosts import hook, put_back
from kedge.cli.bench.speed import loading, sessions, throughput
from kedge.cli.bench.summaries import compaction, facts, probes, replay

bench = typer.Typer(help="Measure kedge on sessions of your own.", no_args_is_help=True)
for command in (
    throughput,
    compaction,
    sessions,
    loading,
    hook,
    put_back,
    facts,
    replay,
    probes,
    paying,
    ledger,
):
    bench.command(command.__name__.replace("_", "-"))(command)
