"""What a summary has to preserve of a conversation: files, goals, errors, the build, the intent."""

from kedge.context.extraction import Extraction, extract_from_turns
from kedge.context.files import relative
from kedge.context.goals import goals_of

__all__ = ["Extraction", "extract_from_turns", "goals_of", "relative"]
