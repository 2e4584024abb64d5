def patience_seconds(headers, ttl_seconds, *, now):
    return ttl_seconds
