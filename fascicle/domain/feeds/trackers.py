"""Parameters of addresses that tell where a visitor comes from, or the form of a page, but not which page."""

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
        *("soc_trk", "__twitter_impression"),
    }
)
# Trackers only if the value begins with `rss`: Medium's `?source=rss----…`, newspapers' `?partner=rss`.
_FEED_MARKS = frozenset({"source", "partner", "emc"})
_AMP_FORMS = frozenset({("amp", ""), ("amp", "1"), ("amp", "true"), ("outputtype", "amp")})
_FORMS_OF_HOSTS = {"blogspot.com": frozenset({"m"})}
# Trackers only on these hosts.
_OF_HOSTS = {
    "youtube.com": frozenset({"si", "feature", "pp", "ab_channel"}),
    "youtu.be": frozenset({"si", "feature"}),
    "spotify.com": frozenset({"si"}),
}


def is_tracker(parameter: str, host: str) -> bool:
    """Can `name=value` be removed without changing the target of the address?"""
    name, value = _name_and_value(parameter)
    return (
        name in _NAMES
        or name.startswith(_PREFIXES)
        or (name in _FEED_MARKS and value.startswith("rss"))
        or name in _OF_HOSTS.get(_domain(host), ())
    )


def is_form(parameter: str, host: str) -> bool:
    """Whether `name=value` asks for the same page in another form: for AMP, for phones."""
    name, value = _name_and_value(parameter)
    return name == "_amp" or (name, value) in _AMP_FORMS or name in _FORMS_OF_HOSTS.get(_domain(host), ())


def _name_and_value(parameter: str) -> tuple[str, str]:
    name, _, value = parameter.partition("=")
    return unquote(name).lower(), value.lower()


def _domain(host: str) -> str:
    return ".".join(host.split(".")[-2:])
