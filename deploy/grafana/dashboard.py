"""Makes dashboards/fascicle.json of panels.yml: `python deploy/grafana/dashboard.py`."""

import json
from pathlib import Path
from typing import Any

import yaml

_HERE = Path(__file__).parent
PANELS = _HERE / "panels.yml"
FILE = _HERE / "dashboards" / "fascicle.json"

_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_PAGE_WIDTH = 24
_SIZES = {"stat": (4, 4)}
_USUAL_SIZE = (8, 8)
_LAST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_OPTIONS: dict[str, dict[str, Any]] = {
    "stat": {"colorMode": "background", "graphMode": "none", "textMode": "auto", "reduceOptions": _LAST},
    "bargauge": {"displayMode": "gradient", "orientation": "horizontal", "reduceOptions": _LAST},
    "timeseries": {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
}
_CHOICES = (
    ("site", "Site", "label_values(fascicle_polls_total, site)"),
    ("queue", "Task queue", "label_values(temporal_worker_task_slots_used, task_queue)"),
)


def dashboard() -> dict[str, Any]:
    return {
        "uid": "fascicle",
        "title": "Fascicle",
        "description": "What each row shows and what to do: docs/observability.md.",
        "tags": ["fascicle"],
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "schemaVersion": 39,
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_datasource(), *(_choice(*choice) for choice in _CHOICES)]},
        "panels": _placed(yaml.safe_load(PANELS.read_text())),
    }


def text() -> str:
    """A line for each panel, so that a change of one is a change of one line."""
    made = dashboard()
    panels = ",\n".join(json.dumps(panel, ensure_ascii=False) for panel in made.pop("panels"))
    return json.dumps(made, indent=1)[:-2] + f',\n "panels": [\n{panels}\n ]\n}}\n'


def _datasource() -> dict[str, Any]:
    current = {"text": "Prometheus", "value": "prometheus"}
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": current,
    }


def _choice(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _placed(rows: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows from top to bottom, their panels from left to right."""
    placed: list[dict[str, Any]] = []
    top = 0
    for title, panels in rows.items():
        row = {"type": "row", "title": title, "collapsed": False, "panels": []}
        placed.append({"id": len(placed) + 1, **row, "gridPos": {"x": 0, "y": top, "w": _PAGE_WIDTH, "h": 1}})
        top, left = top + 1, 0
        for panel in panels:
            width, height = _SIZES.get(panel.get("kind", ""), _USUAL_SIZE)
            if left + width > _PAGE_WIDTH:
                top, left = top + height, 0
            where = {"x": left, "y": top, "w": width, "h": height}
            placed.append({"id": len(placed) + 1, **_panel(panel), "gridPos": where})
            left += width
        top += height
    return placed


def _panel(panel: dict[str, Any]) -> dict[str, Any]:
    kind = panel.get("kind", "timeseries")
    return {
        "type": kind,
        "title": panel["title"],
        "description": panel["description"],
        "datasource": _DATASOURCE,
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": _DATASOURCE,
                "expr": query["expr"],
                "legendFormat": query.get("legend", "__auto"),
                # Over a range, the last value would be shown for as long as nothing comes after it.
                "instant": kind != "timeseries",
                "range": kind == "timeseries",
            }
            for place, query in enumerate(panel["queries"])
        ],
        "fieldConfig": {"defaults": _defaults(panel, kind), "overrides": []},
        "options": _OPTIONS[kind],
    }


def _defaults(panel: dict[str, Any], kind: str) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.get("unit", "short"), "min": 0}
    defaults["thresholds"] = {"mode": "absolute", "steps": _steps(panel)}
    if kind == "timeseries":
        stacked = panel.get("stacked", False)
        defaults["custom"] = {
            "fillOpacity": 20 if stacked else 5,
            "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "dashed" if "steps" in panel else "off"},
            "showPoints": "never",
        }
    else:
        defaults["color"] = {"mode": "thresholds"}
    if "decimals" in panel:
        defaults["decimals"] = panel["decimals"]
    if "words" in panel:
        words = {value: {"text": word} for value, word in panel["words"].items()}
        defaults["mappings"] = [{"type": "value", "options": words}]
    return defaults


def _steps(panel: dict[str, Any]) -> list[dict[str, Any]]:
    base, last = ("red", "green") if panel.get("good_above") else ("green", "red")
    steps: list[dict[str, Any]] = [{"color": base, "value": None}]
    if "steps" in panel:
        first, second = panel["steps"]
        if first != second:
            steps.append({"color": "yellow", "value": first})
        steps.append({"color": last, "value": second})
    return steps


if __name__ == "__main__":
    FILE.write_text(text())
