def youtube_feed(url, base):
    return None


def youtube_page(url, base):
    return None


def channel_in_page(html):
    return None
