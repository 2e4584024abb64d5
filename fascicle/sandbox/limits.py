"""The limits for one document."""

# Address space of a parsing process. The largest recorded page takes 340 MB of it, 60 MB are Python itself.
MEMORY = 512 << 20
CPU_SECONDS = 30.0
# The longest result of a reading, as JSON. The largest feed that is fetched has 20 MB.
LARGEST_ANSWER = 24 << 20
CRASHED = "parser_crashed"
TIMEOUT = "parser_timeout"
