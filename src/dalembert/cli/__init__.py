"""Command line: ``dalembert new``, ``check``, ``simulate``, ``view`` and others.

`arguments` defines the options, and each ``*_commands`` module executes some commands. They return a `CommandResult`,
printed as text or as JSON.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import DalembertError, ModelError, TopologyError, UserFunctionError
from .arguments import parser
from .command_result import DONE, FAILED, INTERRUPTED, WRONG, CommandResult

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 success, 1 no result, 2 wrong use or input, 130 interrupted."""
    chosen = parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            answer: CommandResult = chosen.run(chosen)
        _say(answer, quiet=chosen.quiet, as_json=chosen.json)
        return answer.status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (DalembertError, OSError) as error:
        status = (
            WRONG if isinstance(error, (ModelError, TopologyError, UserFunctionError, OSError, ImportError)) else FAILED
        )
        return _failed(error, status, chosen.traceback, chosen.json)
    except (MemoryError, RecursionError) as error:
        return _failed(error, FAILED, chosen.traceback, chosen.json)


def _warn(
    message: Warning | str, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning without the source line."""
    del category, filename, lineno, file, line
    print(f"dalembert: {message}", file=sys.stderr)


def _say(answer: CommandResult, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        print(answer.as_json())
    elif not quiet and answer.text:
        print(answer.text)
    if answer.error_text:
        print(f"dalembert: {answer.error_text}", file=sys.stderr)


def _failed(error: BaseException, status: int, with_traceback: bool, as_json: bool) -> int:
    text = str(error) or type(error).__name__
    if with_traceback:
        traceback.print_exception(error)
    if as_json:
        print(CommandResult("", {"error": text, "kind": type(error).__name__}, status).as_json())
    print(f"dalembert: {text}", file=sys.stderr)
    return status
