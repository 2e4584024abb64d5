"""WeebCentral's addresses."""

import re

PUBLIC_URL = "https://weebcentral.com"
_ULID = r"[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}"
SERIES_PATH = re.compile(rf"/series/({_ULID})(?:/[^/]*)?/?", re.ASCII)
CHAPTER_PATH = re.compile(rf"/chapters/({_ULID})(?:/.*)?", re.ASCII)
