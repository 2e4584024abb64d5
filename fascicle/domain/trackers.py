"""Parameters of addresses that say how somebody came to a page, not which page it is."""

from urllib.parse import unquote

_PREFIXES = (
    *("utm_", "oly_", "vero_", "mtm_", "matomo_", "pk_", "piwik_", "hsa_", "fb_action_", "wt.mc_", "wt_mc"),
    *("at_custom", "at_campaign", "at_link_", "__hs", "stm_"),
)
_NAMES = frozenset(
    {
        *("fbclid", "gclid", "dclid", "msclkid", "yclid", "ysclid", "twclid", "ttclid", "gbraid", "wbraid"),
        *("gclsrc", "srsltid", "li_fat_id", "rb_clickid", "s_kwcid", "epik", "_ga", "_gl", "_openstat"),
        *("mc_cid", "mc_eid", "igshid", "igsh", "_hsenc", "_hsmi", "hsctatracking", "mkt_tok", "wickedid"),
        *("ml_subscriber", "ml_subscriber_hash", "ref_src", "ref_url", "fb_source", "fb_ref"),
        *("at_medium", "at_bbc_team", "at_format", "at_ptr_name", "cmpid", "s_cid", "sc_cid", "icid", "ncid"),
        *("ocid", "xtor", "smid", "smtyp", "guccounter", "guce_referrer", "guce_referrer_sig", "soc_src"),
        *("soc_trk", "__twitter_impression", "_amp"),
    }
)
# Only with these values: `?source=rss----…` is Medium's, `?partner=rss` newspapers'; others mean something.
_FEED_MARKS = frozenset({"source", "partner", "emc"})
_AMP_FORMS = frozenset({("amp", ""), ("amp", "1"), ("amp", "true"), ("outputtype", "amp")})
# Only there.
_OF_HOSTS = {
    "blogspot.com": frozenset({"m"}),
    "youtube.com": frozenset({"si", "feature", "pp", "ab_channel"}),
    "youtu.be": frozenset({"si", "feature"}),
    "spotify.com": frozenset({"si"}),
}


def is_tracker(parameter: str, host: str) -> bool:
    """Whether `name=value` may go without changing where it leads."""
    raw_name, _, raw_value = parameter.partition("=")
    name, value = unquote(raw_name).lower(), raw_value.lower()
    return (
        name in _NAMES
        or name.startswith(_PREFIXES)
        or (name, value) in _AMP_FORMS
        or (name in _FEED_MARKS and value.startswith("rss"))
        or name in _OF_HOSTS.get(".".join(host.split(".")[-2:]), ())
    )
