"""Words that have the shape of a name and are none worth remembering."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STANDARD = words(
    """
    fmt os io strings bytes errors filepath path time json http context sync ioutil bufio exec
    regexp strconv sort log slog math rand reflect runtime flag url xml hex base64 sha256 md5
    atomic slices maps unicode utf8 testing cmp assert require t b tb sys re shutil subprocess
    pathlib typing collections itertools functools datetime asyncio logging random string abc
    dataclasses contextlib tempfile argparse pytest unittest mock np pd plt torch console Math
    Object Array Promise Number String Boolean Date RegExp Symbol JSON Reflect Buffer fs
    child_process document window localStorage React vi jest expect test describe it std core
    alloc Vec Option Result Some Ok Err Box Arc Rc HashMap System Collections Arrays Objects
    Thread Integer Long Character
    """
)
"""Before a point: what follows is of the language's own library, which every model knows."""

WELL_KNOWN = words(
    """
    GitHub GitLab JavaScript TypeScript NodeJS MacOS macOS PostgreSQL MySQL MongoDB OpenAI
    ChatGPT GraphQL WebSocket IDs URLs APIs PRs JSONs CLIs LLMs UIs UUIDs TODOs README_md DevOps
    VSCode in_progress files_with_matches old_string new_string file_path output_mode
    run_in_background Node.js Next.js Nuxt.js Vue.js React.js Express.js Three.js Chart.js OAuth
    OAuth2 PyPI PowerShell OneDrive NumPy PyTorch GitOps DockerHub LinkedIn YouTube iPhone iPad
    LaTeX node_modules MagicMock StringIO BytesIO TestCase NamedTuple TypedDict __init__
    __main__ __name__ __file__ __dict__ __all__ __future__ __class__ __doc__ __repr__ __str__
    __enter__ __exit__ __call__ __len__ __iter__ __next__ __eq__ __hash__ __post_init__ toString
    forEach indexOf includes startsWith endsWith toLowerCase toUpperCase hasOwnProperty
    addEventListener removeEventListener querySelector getElementById innerHTML textContent
    preventDefault parseInt parseFloat isArray setTimeout clearTimeout setInterval clearInterval
    useState useEffect useRef useMemo useCallback readFileSync writeFileSync existsSync
    isinstance hasattr getattr setattr TypeError ValueError KeyError IndexError AttributeError
    RuntimeError NotImplementedError FileNotFoundError ImportError StopIteration OSError setUp
    tearDown assertEqual assertTrue assertFalse assertRaises assertIn unwrap_or unwrap_or_else
    is_some is_none is_ok is_err to_string to_owned as_str as_ref into_iter
    """
)
"""Proper nouns, words of agents' own tools, and what stands in the text of every program."""

PLAIN = words(
    """
    main init test tests setup teardown name names data value values item items result results
    error errors string number object function class type struct interface const config options
    option args params request response handler index count list dict self this that none null
    true false default return import export from with async await public private static void
    bool int float char byte ctx err out input output file files path paths line lines text body
    head title message key keys field fields first last next prev start stop open close read
    write load save send create update delete remove add new get set run exec call node root
    parent child children user users model view state base util utils helper helpers common the
    and for not are was has have will should when then if else case switch break continue range
    while each using used uses into over under only also
    """
)
"""Plain words that say nothing when they are declared: every program has them."""

NO_TICKETS = words(
    "UTF SHA MD ISO RFC HTTP GPT AES RSA TLS SSL IPV CVE CWE PEP ES UTC GMT BASE64 X86 ARM TOP"
)
"""What stands before a dash and a number without being a tracker's project."""

GENERATED = ("toolu_", "call_", "msg_", "req_", "chatcmpl", "srvtoolu_", "ses_", "prt_", "sk_live")
"""How ids begin that machines gave."""

FOLDERS = words(
    """
    api app apps assets bin build client cmd components config crates doc docs examples internal
    lib modules packages pkg public scripts server spec src static test tests tools web
    """
)
"""How paths begin that end in a folder; three plain words between strokes are no path."""

ROOTS = words(
    "Users Volumes app data home mnt opt private repo root srv testbed usr var workspace workspaces"
)
"""How full paths begin; other words behind a stroke are routes of an interface."""

ALSO_ATTRIBUTES = words("bash c conf db env ex fish h less lock log mod nim sum")
"""Endings of files that are attributes of things in code as well."""

FILES_ENDING_SO = words(
    "go.mod go.sum yarn.lock Cargo.lock poetry.lock uv.lock Gemfile.lock composer.lock flake.lock"
)

SUFFIXES = words(
    """
    astro bash bats c cc cfg conf cpp cs css csv cts dart db env ex exs fish go gradle graphql h
    hpp html ini ipynb java js json json5 jsonc jsonl jsx kt kts less lock log lua md mdx mjs mk
    mod mts nim php pl plist prisma proto ps1 py pyi rb rs rst sass scala scss sh sql sum svelte
    svg swift tape tf toml ts tsx txt vue xml yaml yml zig zsh
    """
)
"""Endings by which a word is a file's name and no attribute of something."""
