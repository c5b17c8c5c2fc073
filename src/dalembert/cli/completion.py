"""Shell completion for bash, zsh and fish, generated from the parser."""

from __future__ import annotations

import argparse

from .._core import methods
from ..io.model_files.library_systems import library_systems
from .arguments import parser as command_parser
from .command_result import CommandResult

__all__ = ["SHELLS", "completion"]

SHELLS = ("bash", "zsh", "fish")
EXTERNAL_METHODS = ("cvode", "ida", *(f"scipy:{name}" for name in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")))


def completion(chosen: argparse.Namespace) -> CommandResult:
    """Print a completion script for a shell."""
    verbs = verbs_of(command_parser())
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[chosen.shell](verbs)
    return CommandResult(made, {"shell": chosen.shell, "script": made})


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _words(parser: argparse.ArgumentParser) -> list[str]:
    return sorted(option for action in _options(parser) for option in action.option_strings)


def _choices(parser: argparse.ArgumentParser) -> list[str]:
    """Return the choices of positional arguments."""
    return [str(c) for action in parser._actions if not action.option_strings for c in action.choices or ()]


def _values(action: argparse.Action) -> list[str]:
    """Return the choices or usual values of an option."""
    if action.dest == "library":
        return list(library_systems())
    if action.dest == "method":
        return ["auto", *methods, *EXTERNAL_METHODS]
    return [str(choice) for choice in action.choices or ()]


def _bash(verbs: dict[str, argparse.ArgumentParser]) -> str:
    cases = "\n".join(
        f'        {name}) words="{" ".join([*_words(verb), *_choices(verb)])}" ;;' for name, verb in verbs.items()
    )
    known = {
        option: _values(action)
        for verb in verbs.values()
        for action in _options(verb)
        for option in action.option_strings
    }
    values = "\n".join(f'        {option}) words="{" ".join(words)}" ;;' for option, words in known.items() if words)
    return f"""\
# dalembert completion bash > ~/.local/share/bash-completion/completions/dalembert
_dalembert() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(verbs)} --help --version" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    local wanted="$words"; words=""
    case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return
    fi
    COMPREPLY=($(compgen -W "$wanted" -- "$word"))
    case "$word" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$word")) ;; esac
}}
complete -o filenames -F _dalembert dalembert"""


def _zsh(verbs: dict[str, argparse.ArgumentParser]) -> str:
    listed = "\n".join(f"    '{name}:{_plain(verb.description)}'" for name, verb in verbs.items())
    cases = "\n".join(
        f"        {name}) _arguments {' '.join(_zsh_options(verb))} '*:file:_files' ;;" for name, verb in verbs.items()
    )
    return f"""\
#compdef dalembert
# dalembert completion zsh > "${{fpath[1]}}/_dalembert"
_dalembert() {{
    local -a verbs=(
{listed}
    )
    if (( CURRENT == 2 )); then
        _describe verb verbs
        return
    fi
    local verb=$words[2]
    shift words; (( CURRENT-- ))
    case $verb in
{cases}
    esac
}}
_dalembert "$@\""""


def _zsh_options(parser: argparse.ArgumentParser) -> list[str]:
    found = []
    for action in _options(parser):
        words = " ".join(word.replace(":", "\\:") for word in _values(action))
        takes = "" if action.nargs == 0 else f":value:({words})" if words else ":value:_files"
        found += [f"'{option}[{_plain(action.help)}]{takes}'" for option in action.option_strings]
    return found


def _fish(verbs: dict[str, argparse.ArgumentParser]) -> str:
    lines = ["# dalembert completion fish > ~/.config/fish/completions/dalembert.fish"]
    for name, verb in verbs.items():
        lines.append(f"complete -c dalembert -n __fish_use_subcommand -a {name} -d '{_plain(verb.description)}'")
        for action in _options(verb):
            long = "".join(f" -l {o[2:]}" for o in action.option_strings if o.startswith("--"))
            short = "".join(f" -s {o[1:]}" for o in action.option_strings if not o.startswith("--"))
            words = " ".join(_values(action))
            takes = "" if action.nargs == 0 else f" -x -a '{words}'" if words else " -r"
            help_text = f" -d '{_plain(action.help)}'"
            lines.append(
                f"complete -c dalembert -n '__fish_seen_subcommand_from {name}'{long}{short}{takes}{help_text}"
            )
    return "\n".join(lines)


def _plain(text: str | None) -> str:
    """Return a help text without special characters of shells."""
    kept = (text or "").split(" (default")[0]
    return "".join(c for c in kept if c not in "'\"[]:\\`$%").strip().rstrip(".")
