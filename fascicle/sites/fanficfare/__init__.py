"""The sites that FanFicFare reads. FanFicFare is only a parser here: it never opens the network.

`reader` passes pages to child processes (`process`, `child`), which may only parse (`lockdown`). A child
answers with the work's facts, or with the page it needs next. The caller fetches that page through our own
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
