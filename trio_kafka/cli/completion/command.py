"""`trio-kafka completion`: print a script that lets a shell complete words."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Final

from trio_kafka.cli import COMPLETE
from trio_kafka.cli.output import declare_json, print_answer

SCRIPTS: Final[Mapping[str, str]] = {
    "bash": f"""\
_trio_kafka() {{
    local IFS=$'\\n'
    COMPREPLY=($(trio-kafka {COMPLETE} --line "${{COMP_LINE:0:COMP_POINT}}" 2>/dev/null))
}}
complete -o default -F _trio_kafka trio-kafka""",
    "zsh": f"""\
#compdef trio-kafka
_trio_kafka() {{
    local -a candidates
    candidates=(${{(f)"$(trio-kafka {COMPLETE} -- "${{(@)words[2,CURRENT]}}" 2>/dev/null)"}})
    if (( $#candidates )); then compadd -a candidates; else _files; fi
}}
compdef _trio_kafka trio-kafka""",
    "fish": f"""\
function __trio_kafka
    set -l words (commandline -opc) (commandline -ct)
    trio-kafka {COMPLETE} -- $words[2..] 2>/dev/null
end
complete -c trio-kafka -a '(__trio_kafka)'""",
}
"""Scripts by shell. What has no candidates is completed as a file."""


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(SCRIPTS))
    declare_json(parser, "one JSON object: `shell`, `script`")


def completion(*, shell: str, json: bool) -> int:
    """Print a script that completes commands, options, topics, groups and profiles.

    Bash: eval "$(trio-kafka completion bash)" in ~/.bashrc. Zsh: the same in ~/.zshrc, after
    compinit. Fish: trio-kafka completion fish > ~/.config/fish/completions/trio-kafka.fish.
    """
    return print_answer(
        SCRIPTS[shell],
        lambda script: {"shell": shell, "script": script},
        lambda script: [script],
        json=json,
    )
