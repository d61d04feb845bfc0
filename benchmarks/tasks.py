"""Ten tasks that a newcomer would try, as data: ``docs/ten-tasks.md`` shows them, ``benchmarks/start.py`` times them.

Tasks run in this order in one folder, in which ``FILES`` lie.
"""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """What someone wants, and the words of the command that does it."""

    name: str
    words: str


FILES = {
    "calls.csv": "who,whom,calls\nann,bob,12\nbob,cid,3\ncid,dan,7\ndan,ann,1\nbob,ann,2\neve,bob,4\neve,cid,2\n",
    "roads.csv": "from,to,minutes\nOslo,Drammen,40\nOslo,Hamar,85\nDrammen,Kongsberg,35\nHamar,Lillehammer,45\n"
    "Oslo,Kongsberg,70\nLillehammer,Drammen,150\n",
    "flights.csv": "ARN,CPH,30\nARN,OSL,25\nCPH,OSL,28\nCPH,AMS,40\nAMS,OSL,12\nAMS,LIS,9\nCPH,LIS,3\n",
    "airports.csv": "id,label\nARN,Stockholm\nCPH,Copenhagen\nOSL,Oslo\nAMS,Amsterdam\nLIS,Lisbon\n",
}
TASKS = (
    Task("Embed a graph and see who is central", "embed lesmis -o lesmis"),
    Task("List the top of the ranking", "rank lesmis --top 5"),
    Task("Find the nodes nearest to a node", "neighbors lesmis Valjean -k 5"),
    Task("Check how far to trust it", "evaluate lesmis"),
    Task("Embed your own table of ties", "embed calls.csv --weight calls -o calls"),
    Task("Use travel times or other distances", "embed roads.csv --weights-are-distances -o roads"),
    Task("Give nodes readable names", "embed flights.csv --nodes airports.csv -o flights"),
    Task("See how sure each rank is", "embed karate --goal hierarchy --seeds 20 -o karate"),
    Task("Find out which geometry suits a graph", "select karate --dim 2"),
    Task("Open the result in Gephi", "export lesmis --format gexf -o lesmis.gexf"),
)
