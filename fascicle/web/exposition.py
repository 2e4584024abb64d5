"""The text format of Prometheus, for gauges that are written anew at each scrape, so that old ones vanish."""

from collections.abc import Iterable, Mapping

from fascicle.storage.operations.gauges import Gauge, Sample

_LONGEST_LABEL = 100
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def exposition(gauges: Mapping[str, Gauge], samples: Iterable[Sample]) -> str:
    """Samples under their gauges; a gauge without any is left out."""
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    lines: list[str] = []
    for name, found in by_name.items():
        gauge = gauges[name]
        lines += [f"# HELP {name} {gauge.help}", f"# TYPE {name} gauge"]
        lines += [f"{name}{_labels(gauge, sample)} {_number(sample.value)}" for sample in found]
    return "".join(f"{line}\n" for line in lines)


def _labels(gauge: Gauge, sample: Sample) -> str:
    pairs = zip(gauge.labels, sample.labels, strict=True)
    inner = ",".join(f'{label}="{_escaped(value)}"' for label, value in pairs)
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    """People choose the names, so they are cut to a length and stripped of unprintable characters."""
    printable = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in value[:_LONGEST_LABEL])
    return printable.translate(_ESCAPES)


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
