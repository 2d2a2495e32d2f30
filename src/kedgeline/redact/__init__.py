"""Secrets found in texts and taken out of them, before anything is written."""

from kedgeline.redact.redactor import REDACTOR, Redactor, Secret, secrets_in
from kedgeline.redact.rules import all_rules

__all__ = ["REDACTOR", "Redactor", "Secret", "all_rules", "secrets_in"]
