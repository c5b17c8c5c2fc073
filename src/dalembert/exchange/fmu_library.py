"""Shared library of an FMU of another program, FMI 2.0 and 3.0, by ctypes."""

from __future__ import annotations

import ctypes
import platform
import shutil
import sys
import tempfile
import weakref
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint8, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import DalembertError, FileError, ModelError

__all__ = ["FmuDescription", "FmuInstance", "FmuVariable", "read_fmu"]

OK, WARNING, DISCARD = 0, 1, 2
_FOLDERS = {
    ("linux", "x86_64", 2): "linux64", ("linux", "x86_64", 3): "x86_64-linux",
    ("win32", "AMD64", 2): "win64", ("win32", "AMD64", 3): "x86_64-windows",
    ("darwin", "x86_64", 2): "darwin64", ("darwin", "x86_64", 3): "x86_64-darwin",
    ("darwin", "arm64", 2): "darwin64", ("darwin", "arm64", 3): "aarch64-darwin",
    ("linux", "aarch64", 2): "linux64", ("linux", "aarch64", 3): "aarch64-linux",
}  # fmt: skip
MAX_FILES, MAX_BYTES = 20_000, 4 << 30  # of an archive


@dataclass(frozen=True)
class FmuVariable:
    """A real variable of an FMU.

    Attributes
    ----------
    name, causality, variability, unit, description : str
    reference : int
    start : float or None
    """

    name: str
    reference: int
    causality: str
    variability: str
    unit: str
    description: str
    start: float | None


@dataclass(frozen=True)
class FmuDescription:
    """What the description of an FMU says.

    Attributes
    ----------
    version : int
        2 or 3.
    name, token : str
    variables : dict of str to FmuVariable
        The real ones.
    states : tuple of (str, str)
        Names of continuous states and of their derivatives.
    event_indicators : int
    co_simulation, model_exchange : str
        Identifiers of the libraries; empty if there is none.
    flags : dict of str to str
        Capabilities of co-simulation.
    folder : Path
        Where the archive was unpacked.
    """

    version: int
    name: str
    token: str
    variables: dict[str, FmuVariable]
    states: tuple[tuple[str, str], ...]
    event_indicators: int
    co_simulation: str
    model_exchange: str
    flags: dict[str, str]
    folder: Path
    owner: Any = field(default=None, repr=False)

    def library(self, identifier: str) -> Path:
        """Return the shared library for this machine."""
        folder = _FOLDERS.get((sys.platform, platform.machine(), self.version), "")
        found = sorted((self.folder / "binaries" / folder).glob(f"{identifier}.*")) if folder else []
        found = [each for each in found if each.suffix in (".so", ".dll", ".dylib")]
        if not found:
            there = sorted(each.name for each in (self.folder / "binaries").glob("*"))
            remedy = f"it has libraries for {', '.join(there) or 'no platform'}: ask its maker for one for this machine"
            raise ModelError(f"FMU {self.name!r}", "platform", folder or platform.machine(), remedy)
        return found[0]


def read_fmu(path: Path) -> FmuDescription:
    """Unpack an FMU into a temporary folder, and read its description.

    Raises
    ------
    FileError
        If it is no FMU, or of another version than 2.0 and 3.0.
    """
    item = f"FMU {str(path)!r}"
    folder = Path(tempfile.mkdtemp(prefix="dalembert-fmu-"))
    owner = _Folder()
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MAX_FILES or sum(member.file_size for member in members) > MAX_BYTES:
                raise FileError(item, "size", len(members), "the archive is too large")
            for member in members:
                target = (folder / member.filename).resolve()
                if not target.is_relative_to(folder.resolve()):
                    raise FileError(item, "member", member.filename, "it leads out of the archive")
            archive.extractall(folder)
        root = ElementTree.parse(folder / "modelDescription.xml").getroot()
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, FileNotFoundError, NotADirectoryError) as error:
        if not path.exists():
            raise
        raise FileError(item, "content", str(error), "it is no FMU, or damaged") from None
    version = root.get("fmiVersion", "")
    if not version.startswith(("2.", "3.")):
        raise FileError(item, "fmiVersion", version, "versions 2.0 and 3.0 are supported")
    return _described(root, int(version[0]), folder, owner)


class _Folder:
    """Keeps a temporary folder as long as it lives."""


def _described(root: ElementTree.Element, version: int, folder: Path, owner: Any) -> FmuDescription:
    variables: dict[str, FmuVariable] = {}
    order: list[tuple[str, Any]] = []  # names, and the state that each is the derivative of
    for element in root.iterfind("ModelVariables/*"):
        real = element if version == 3 else element.find("Real")
        name = element.get("name", "")
        order.append((name, None if real is None else real.get("derivative")))
        if real is None or (version == 3 and element.tag != "Float64") or real.find("Dimension") is not None:
            continue
        start = real.get("start")
        variables[name] = FmuVariable(
            name,
            int(element.get("valueReference", "0")),
            element.get("causality", "local"),
            element.get("variability", "continuous"),
            real.get("unit", ""),
            element.get("description", ""),
            None if start is None else float(start.split()[0]),
        )
    by_reference = {each.reference: name for name, each in variables.items()}
    if version == 2:
        rates = [order[int(each.get("index", "1")) - 1] for each in root.iterfind("ModelStructure/Derivatives/Unknown")]
        states = tuple((order[int(of) - 1][0], name) for name, of in rates if of is not None)
        indicators = int(root.get("numberOfEventIndicators", "0"))
    else:
        of_name = dict(order)
        found = root.iterfind("ModelStructure/ContinuousStateDerivative")
        names = [by_reference[int(each.get("valueReference", "0"))] for each in found]
        states = tuple((by_reference[int(of_name[name])], name) for name in names)
        indicators = len(root.findall("ModelStructure/EventIndicator"))
    simulation, exchange = root.find("CoSimulation"), root.find("ModelExchange")
    return FmuDescription(
        version,
        root.get("modelName", ""),
        root.get("guid" if version == 2 else "instantiationToken", ""),
        variables,
        states,
        indicators,
        "" if simulation is None else simulation.get("modelIdentifier", ""),
        "" if exchange is None else exchange.get("modelIdentifier", ""),
        {} if simulation is None else dict(simulation.attrib),
        folder,
        owner,
    )


_Logger2 = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p)
_Logger3 = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
_Allocate = ctypes.CFUNCTYPE(c_void_p, c_size_t, c_size_t)
_Free = ctypes.CFUNCTYPE(None, c_void_p)
_Finished = ctypes.CFUNCTYPE(None, c_void_p, c_int)


class _Callbacks2(ctypes.Structure):
    _fields_ = (
        ("logger", _Logger2), ("allocateMemory", _Allocate), ("freeMemory", _Free),
        ("stepFinished", _Finished), ("componentEnvironment", c_void_p),
    )  # fmt: skip


class _EventInfo2(ctypes.Structure):
    _fields_ = (
        ("again", c_int), ("terminate", c_int), ("nominals", c_int), ("values", c_int), ("has_next", c_int),
        ("next", c_double),
    )  # fmt: skip


class FmuInstance:
    """An instance of an FMU.

    Parameters
    ----------
    description : FmuDescription
    co_simulation : bool
        Else model exchange.
    name : str
    """

    def __init__(self, description: FmuDescription, *, co_simulation: bool, name: str = "instance") -> None:
        self.description, self.co_simulation, self.name = description, co_simulation, name
        identifier = description.co_simulation if co_simulation else description.model_exchange
        if not identifier:
            kind = "co-simulation" if co_simulation else "model exchange"
            raise ModelError(f"FMU {description.name!r}", "interface", kind, "it does not offer this")
        self.messages: list[str] = []
        self._version = description.version
        self._library = ctypes.CDLL(str(description.library(identifier)))
        self._real = np.zeros(0)
        self._make(description)
        if not self._component:
            raise DalembertError(f"FMU {description.name!r}: no instance was made: {self._said()}")
        free = self._function("FreeInstance", None, c_void_p)
        self._finalizer = weakref.finalize(self, free, self._component)

    def _function(self, name: str, result: Any, *arguments: Any) -> Any:
        function = getattr(self._library, f"fmi{self._version}{name}", None)
        if function is None:
            raise ModelError(
                f"FMU {self.description.name!r}", "library", f"without fmi{self._version}{name}", "damaged"
            )
        function.restype, function.argtypes = result, arguments
        return function

    def _make(self, description: FmuDescription) -> None:
        token, resources = description.token.encode(), description.folder / "resources"
        messages = self.messages
        if self._version == 2:
            libc = ctypes.CDLL(None) if sys.platform != "win32" else ctypes.cdll.msvcrt
            libc.calloc.restype, libc.calloc.argtypes = c_void_p, (c_size_t, c_size_t)
            libc.free.argtypes = (c_void_p,)

            def log(_: Any, instance: Any, status: int, category: Any, text: bytes) -> None:
                messages.append(text.decode(errors="replace") if text else "")

            self._callbacks = _Callbacks2(
                _Logger2(log), _Allocate(lambda n, size: libc.calloc(n, size)), _Free(lambda p: libc.free(p)),
                _Finished(0), None,
            )  # fmt: skip
            make = self._function(
                "Instantiate", c_void_p, c_char_p, c_int, c_char_p, c_char_p, POINTER(_Callbacks2), c_int, c_int
            )
            location = resources.as_uri().encode()
            kind = 1 if self.co_simulation else 0
            self._component = make(self.name.encode(), kind, token, location, byref(self._callbacks), 0, 0)
            return

        def log3(_: Any, status: int, category: Any, text: bytes) -> None:
            messages.append(text.decode(errors="replace") if text else "")

        self._log3 = _Logger3(log3)
        path = f"{resources}/".encode()
        first = (self.name.encode(), token, path, False, False)
        texts = (c_char_p, c_char_p, c_char_p, c_bool, c_bool)
        if self.co_simulation:
            kinds = (*texts, c_bool, c_bool, c_void_p, c_size_t, c_void_p, _Logger3, c_void_p)
            make = self._function("InstantiateCoSimulation", c_void_p, *kinds)
            self._component = make(*first, False, False, None, 0, None, self._log3, None)
        else:
            make = self._function("InstantiateModelExchange", c_void_p, *texts, c_void_p, _Logger3)
            self._component = make(*first, None, self._log3)

    def _said(self) -> str:
        return self.messages[-1] if self.messages else "it gave no message"

    def _check(self, status: int, what: str) -> int:
        if status > WARNING:
            raise DalembertError(f"FMU {self.description.name!r}: {what} failed (status {status}): {self._said()}")
        return status

    def call(self, name: str, *given: Any) -> None:
        """Call a function whose arguments are (ctypes type, value) pairs; a failure is raised."""
        function = self._function(name, c_int, c_void_p, *(kind for kind, _ in given))
        self._check(function(self._component, *(value for _, value in given)), name)

    # ---- values

    def references(self, names: Sequence[str]) -> Any:
        """Return the value references of variables by name."""
        known = self.description.variables
        for name in names:
            if name not in known:
                from difflib import get_close_matches

                near = get_close_matches(name, known, 4) or list(known)[:6]
                item = f"FMU {self.description.name!r}"
                raise ModelError(item, "variable", name, f"it has {', '.join(map(repr, near)) or 'no real variables'}")
        return (c_uint * len(names))(*(known[name].reference for name in names))

    def get(self, references: Any) -> Array:
        """Return the values of references, (n,)."""
        values = np.zeros(len(references))
        self._transfer("Get", references, values)
        return values

    def set(self, references: Any, values: Array) -> None:
        """Set the values of references, (n,)."""
        self._transfer("Set", references, np.ascontiguousarray(values, dtype=float))

    def _transfer(self, verb: str, references: Any, values: Array) -> None:
        if not len(references):
            return
        pointer = values.ctypes.data_as(POINTER(c_double))
        given = [(c_void_p, references), (c_size_t, len(references)), (POINTER(c_double), pointer)]
        if self._version == 3:
            self.call(f"{verb}Float64", *given, (c_size_t, len(values)))
        else:
            self.call(f"{verb}Real", *given)

    # ---- course of a simulation

    def enter_initialization(self, start: float) -> None:
        """Begin the initialization; parameters and inputs are set in it or before."""
        if self._version == 2:
            self.call("SetupExperiment", (c_int, 0), (c_double, 0.0), (c_double, start), (c_int, 0), (c_double, 0.0))
            self.call("EnterInitializationMode")
        else:
            kinds = (c_bool, False), (c_double, 0.0), (c_double, start), (c_bool, False), (c_double, 0.0)
            self.call("EnterInitializationMode", *kinds)

    def exit_initialization(self) -> None:
        """End the initialization."""
        self.call("ExitInitializationMode")
        if not self.co_simulation:
            self.update_events()

    def reset(self) -> None:
        """Return to the state of a new instance."""
        self.call("Reset")

    def do_step(self, t: float, length: float) -> None:
        """Take a step of co-simulation."""
        if self._version == 2:
            self.call("DoStep", (c_double, t), (c_double, length), (c_int, 0))
            return
        flags, last = [c_bool() for _ in range(3)], c_double()
        given = [
            (c_double, t),
            (c_double, length),
            (c_bool, False),
            *((POINTER(c_bool), byref(each)) for each in flags),
        ]
        self.call("DoStep", *given, (POINTER(c_double), byref(last)))
        if flags[1].value:
            raise DalembertError(f"FMU {self.description.name!r} asks to end the run at t = {last.value:.6g} s")

    def update_events(self) -> tuple[bool, float]:
        """Let the FMU settle its discrete states, and go on in continuous time.

        Returns
        -------
        changed : bool
            Whether continuous states have changed.
        next : float, s
            Time of the next event; infinite if there is none.
        """
        for _ in range(100):
            if self._version == 2:
                info = _EventInfo2()
                self.call("NewDiscreteStates", (POINTER(_EventInfo2), byref(info)))
                again, ends, changed = info.again, info.terminate, info.values
                following = info.next if info.has_next else np.inf
            else:
                flags, then = [c_bool() for _ in range(5)], c_double()
                pointers = [(POINTER(c_bool), byref(each)) for each in flags]
                self.call("UpdateDiscreteStates", *pointers, (POINTER(c_double), byref(then)))
                again, ends, _, changed = (each.value for each in flags[:4])
                following = then.value if flags[4].value else np.inf
            if ends:
                raise DalembertError(f"FMU {self.description.name!r} asks to end the run")
            if not again:
                self.call("EnterContinuousTimeMode")
                return bool(changed), float(following)
        raise DalembertError(f"FMU {self.description.name!r}: its events do not come to an end")

    def enter_event_mode(self) -> None:
        """Enter the event mode."""
        self.call("EnterEventMode")

    def set_time(self, t: float) -> None:
        """Set the time of model exchange, s."""
        self.call("SetTime", (c_double, t))

    def set_states(self, states: Array) -> None:
        """Set the continuous states, (n,)."""
        self._vector("SetContinuousStates", np.ascontiguousarray(states, dtype=float))

    def states(self) -> Array:
        """Return the continuous states, (n,)."""
        return self._vector("GetContinuousStates", np.zeros(len(self.description.states)))

    def rates(self) -> Array:
        """Return the derivatives of the continuous states, (n,)."""
        name = "GetDerivatives" if self._version == 2 else "GetContinuousStateDerivatives"
        return self._vector(name, np.zeros(len(self.description.states)))

    def _vector(self, name: str, values: Array) -> Array:
        if len(values):
            self.call(name, (POINTER(c_double), values.ctypes.data_as(POINTER(c_double))), (c_size_t, len(values)))
        return values

    # ---- saved states

    def saved(self) -> bytes:
        """Return the whole state of the instance."""
        word, take = ("FMUstate", "GetFMUstate") if self._version == 2 else ("FMUState", "GetFMUState")
        state, size = c_void_p(), c_size_t()
        self.call(take, (POINTER(c_void_p), byref(state)))
        try:
            self.call(f"Serialized{word}Size", (c_void_p, state), (POINTER(c_size_t), byref(size)))
            room = (c_uint8 * size.value)()
            self.call(f"Serialize{word}", (c_void_p, state), (c_void_p, room), (c_size_t, size))
            return bytes(room)
        finally:
            self.call(f"Free{word}", (POINTER(c_void_p), byref(state)))

    def restore(self, saved: bytes) -> None:
        """Return to a state."""
        word, name = ("FMUstate", "DeSerialize") if self._version == 2 else ("FMUState", "Deserialize")
        state, room = c_void_p(), (c_uint8 * len(saved)).from_buffer_copy(saved)
        given = (c_void_p, room), (c_size_t, len(saved)), (POINTER(c_void_p), byref(state))
        self.call(f"{name}{word}", *given)
        try:
            self.call(f"Set{word}", (c_void_p, state))
        finally:
            self.call(f"Free{word}", (POINTER(c_void_p), byref(state)))
