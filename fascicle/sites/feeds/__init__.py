"""Feeds: parsing bytes into a `ParsedFeed`, and finding feeds.

`document` makes text from bytes, `xml_feed` and `json_feed` make a feed from the text, `keys` gives each
entry its id. `reading` does all this in a parsing process and sanitises the entries; `reader` calls it there.
"""
