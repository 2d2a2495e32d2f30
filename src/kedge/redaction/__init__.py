"""Secrets found in texts and taken out of them, before anything is written."""

from kedge.redaction.known import secrets_in
from kedge.redaction.patterns import RULES
from kedge.redaction.redactor import REDACTOR, Redactor, Secret

__all__ = ["REDACTOR", "RULES", "Redactor", "Secret", "secrets_in"]
