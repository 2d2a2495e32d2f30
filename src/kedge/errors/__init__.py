"""Everything kedge raises on purpose.

KedgeError
├── UserError              something the caller gave is wrong; the message says what to do
│   ├── SourceUnreadable   no such file, a folder, no permission
│   ├── NotATranscript     readable, but no format knows it
│   ├── UnknownName        a format, provider or vocabulary that is not registered
│   ├── BrokenPlugin       a registered format cannot be loaded, or is none
│   ├── SeveralSessions    one file holds many sessions and none was chosen
│   ├── MissingExtra       an optional package is not installed
│   ├── BadName            a product or task that must not become part of a path
│   ├── FileRefused        a link, a folder or another's file stands where ours belongs
│   ├── NotAState          a state.json that is no JSON object
│   ├── NotAClaim          a file that is no claim of a task, or whose numbers would fall
│   ├── NoSuchSession      a session that the store does not have
│   ├── SessionExists      a name that another session has already
│   ├── NothingToUndo      no compaction of the session stands
│   ├── NoSuchTurn         a turn, or a pin, that the session does not have
│   ├── NothingToPin       neither words nor a turn
│   ├── OtherSession       a file that is not the session it should go on with, or an old copy
│   ├── NotAnExport        a file that is no exported session, or not a whole one
│   ├── StoreTooNew        a store that a newer kedge has written
│   ├── NoSuchBank         a folder that is no memory bank
│   ├── BankMalformed      a bank file that cannot be understood, with the line
│   ├── NotTheOwner        an agent that may not compact this bank
│   ├── BankLocked         another agent holds the bank's lock
│   ├── BankChanged        a bank file that somebody changed meanwhile
│   ├── NotAPacket         a delegation packet that is none, with what is wrong
│   └── BadSettings        a setting has a value it cannot have
├── StoreFailed            the store could not read or write: disk full, damaged, not reached
│   └── StoreBusy          another process held it for too long
├── ModelFailed            a language model gave no reply
└── OutputUnwritable       the work is done and its result cannot be written: no space left

They are written in files by what they are about, and imported from here."""

from kedge.errors.banks import BankChanged, BankLocked, BankMalformed, NoSuchBank, NotTheOwner
from kedge.errors.given import (
    BadName,
    BadSettings,
    BrokenPlugin,
    FileRefused,
    MissingExtra,
    NotAClaim,
    NotAPacket,
    NotAState,
    NotATranscript,
    SeveralSessions,
    SourceUnreadable,
    UnknownName,
)
from kedge.errors.outside import ModelFailed, OutputUnwritable
from kedge.errors.roots import KedgeError, UserError
from kedge.errors.sessions import (
    NoSuchSession,
    NoSuchTurn,
    NotAnExport,
    NothingToPin,
    NothingToUndo,
    OtherSession,
    SessionExists,
    StoreBusy,
    StoreFailed,
    StoreTooNew,
)

__all__ = [
    "BadName",
    "BadSettings",
    "BankChanged",
    "BankLocked",
    "BankMalformed",
    "BrokenPlugin",
    "FileRefused",
    "KedgeError",
    "MissingExtra",
    "ModelFailed",
    "NoSuchBank",
    "NoSuchSession",
    "NoSuchTurn",
    "NotAClaim",
    "NotAPacket",
    "NotAState",
    "NotATranscript",
    "NotAnExport",
    "NotTheOwner",
    "NothingToPin",
    "NothingToUndo",
    "OtherSession",
    "OutputUnwritable",
    "SessionExists",
    "SeveralSessions",
    "SourceUnreadable",
    "StoreBusy",
    "StoreFailed",
    "StoreTooNew",
    "UnknownName",
    "UserError",
]

for _name in __all__:
    # Traces and reports name them by where they are imported from.
    globals()[_name].__module__ = __name__
