"""Feeds: bytes in, `ParsedFeed` out, and where feeds are.

`document` makes text of bytes, `xml_feed` and `json_feed` a feed of the text, `keys` gives each entry its id.
`reading` does all this in a parsing process and sanitises the entries; `reader` asks it to.
"""
