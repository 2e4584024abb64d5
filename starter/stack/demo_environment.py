"""The demo's settings: its own upstreams, and intervals that are short enough to watch."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from simulator.deviantart.records import Options

# The example adapters describe sites of the demo.
_ADAPTERS = Path(__file__).parents[2] / "sites.d"
_RULES = Path(__file__).parents[2] / "ship_rules.yaml"
_SITES = ("MANGADEX", "MANGAPLUS", "WEEBCENTRAL", "SITE_INKPAGES", "SITE_PANELBOX")

# Short enough to watch; the environment's values take precedence.
_RHYTHM = {
    **{f"FASCICLE_{site}_INTERVAL_SECONDS": "0.1" for site in _SITES},
    "FASCICLE_CADENCE_HOT_SECONDS": "5",
    "FASCICLE_CADENCE_WARM_SECONDS": "10",
    # The 300 series of the shelf, once imported, must leave room for the six of the demo.
    "FASCICLE_CADENCE_COLD_SECONDS": "120",
    "FASCICLE_SWEEP_SECONDS": "2",
    "FASCICLE_NOTIFY_DELAY_SECONDS": "1",
    "FASCICLE_DIGEST_EVERY_SECONDS": "10",
    "FASCICLE_ACCOUNT_INTERVAL_SECONDS": "0.5",
    "FASCICLE_AUTOMATION_EVERY_SECONDS": "10",
    # This is the simulated AO3: the real one is called at most once in 20 seconds, whatever is set.
    "FASCICLE_AO3_INTERVAL_SECONDS": "2",
    "FASCICLE_AO3_THINK_SECONDS": "0,0.5",
    "FASCICLE_AO3_PAUSE_SECONDS": "5,10",
    "FASCICLE_FIC_INTERVAL_SECONDS": "0.5",
    "FASCICLE_FEED_INTERVAL_SECONDS": "0.1",
    "FASCICLE_FEED_MIN_SECONDS": "3",
    "FASCICLE_FEED_MAX_SECONDS": "6",
    "FASCICLE_ENRICH_INTERVAL_SECONDS": "0.2",
}


def demo_environment(simulator_url: str, given: Mapping[str, str]) -> dict[str, str]:
    """Settings of the demo. Its series exist only in the simulator, so the upstreams cannot be changed."""
    return {
        **{f"FASCICLE_{s}_URL": f"{simulator_url}/{s.removeprefix('SITE_').lower()}" for s in _SITES},
        "FASCICLE_SITES_DIR": str(_ADAPTERS),
        "FASCICLE_DEVIANTART_URL": f"{simulator_url}/deviantart",
        "FASCICLE_DEVIANTART_CLIENT_ID": Options().client_id,
        "FASCICLE_DEVIANTART_CLIENT_SECRET": Options().client_secret,
        "FASCICLE_AO3_URL": f"{simulator_url}/ao3",
        "FASCICLE_ROYALROAD_URL": f"{simulator_url}/royalroad",
        **{f"FASCICLE_{s}_URL": f"{simulator_url}/{s.lower()}" for s in ("YOUTUBE", "SPOTIFY", "SOUNDCLOUD")},
        "FASCICLE_SHIP_RULES": str(_RULES),
        "FASCICLE_ALLOW_HOSTS": urlsplit(simulator_url).netloc,
        **{name: given.get(name, value) for name, value in _RHYTHM.items()},
    }
