"""The sites FanFicFare reads, with FanFicFare as a parser only: it never opens the network.

`reader` hands pages to child processes (`process`, `child`), which may do nothing but parse (`lockdown`). A
child answers with the work's facts, or with the page it wants next; who asked fetches that through our own
client, where the site's gate counts it, and asks again with one page more.
"""

from fascicle.sites.fanficfare.address import normal_form_of, rebased
from fascicle.sites.fanficfare.reader import FanFicFare, PageWanted
from fascicle.sites.fanficfare.wattpad import wattpad_lookup_url, wattpad_story_of

__all__ = [
    "FanFicFare",
    "PageWanted",
    "normal_form_of",
    "rebased",
    "wattpad_lookup_url",
    "wattpad_story_of",
]
