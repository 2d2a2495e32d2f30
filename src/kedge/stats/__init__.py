"""What a session consists of, counted in one pass and in bounded memory."""

from kedge.stats.counting import stats_of
from kedge.stats.values import Output, Stats

__all__ = ["Output", "Stats", "stats_of"]
