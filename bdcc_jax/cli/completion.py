"""``bdcc-jax completion``: a script that lets a shell complete commands, options and choices."""

import argparse
from collections.abc import Iterable, Iterator
from shlex import quote

from .common import Parser, say

HELP = 'completion for a shell: eval "$(bdcc-jax completion bash)"'

BASH = """_bdcc_jax() {{
    local now=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words={commands}
    else
        case "${{COMP_WORDS[1]}} $before" in
{choices}
        *)
            case "$now" in
            -*)
                case "${{COMP_WORDS[1]}}" in
{flags}
                esac ;;
            esac ;;
        esac
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$now"))
    else
        local IFS=$'\\n'
        COMPREPLY=($(compgen -f -- "$now"))
    fi
}}
complete -o filenames -F _bdcc_jax bdcc-jax"""

SHELLS = ("bash", "zsh", "fish")


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    command.add_argument("shell", choices=SHELLS, help="in which the script runs")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    commands: dict[str, Parser] = arguments.commands
    if arguments.shell == "fish":
        say("\n".join(_fish(commands)))
    else:
        before = "autoload -U +X bashcompinit && bashcompinit\n" if arguments.shell == "zsh" else ""
        say(before + _bash(commands))
    return 0


def _bash(commands: dict[str, Parser]) -> str:
    choices: list[str] = []
    flags: list[str] = []
    for name, command in commands.items():
        listed: list[str] = []
        for action in _optional(command):
            listed += action.option_strings
            for flag in action.option_strings if action.choices is not None else ():
                words = _words(action.choices or ())
                choices.append(f'        "{name} {flag}") words={words} ;;')
        flags.append(f"                {name}) words={_words(listed)} ;;")
    return BASH.format(
        commands=_words(commands), choices="\n".join(choices), flags="\n".join(flags)
    )


def _fish(commands: dict[str, Parser]) -> Iterator[str]:
    for name, command in commands.items():
        yield f"complete -c bdcc-jax -n __fish_use_subcommand -a {name}"
        for action in _optional(command):
            line = f"complete -c bdcc-jax -n '__fish_seen_subcommand_from {name}'"
            for flag in action.option_strings:
                line += f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
            if action.choices:
                line += f" -x -a {_words(action.choices)}"
            yield f"{line} -d {quote((action.help or '').replace('%%', '%'))}"


def _optional(command: Parser) -> list[argparse.Action]:
    return [action for action in command._actions if action.option_strings]


def _words(words: Iterable[object]) -> str:
    return quote(" ".join(map(str, words)))
