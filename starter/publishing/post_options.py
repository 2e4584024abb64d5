"""The options of `post create` and `post edit`."""

from typing import Annotated, Any

import typer

Description = Annotated[str | None, typer.Option(help="HTML is allowed.")]
Tags = Annotated[str | None, typer.Option(help="Comma-separated, at most 30.")]
Mature = Annotated[str | None, typer.Option(help="strict, moderate; `no`: expressly not mature.")]
MatureClass = Annotated[
    list[str] | None, typer.Option(help="nudity, sexual, gore, language, ideology; repeatable.")
]
Gallery = Annotated[list[str] | None, typer.Option(help="A gallery's id; repeatable.")]
DisplayResolution = Annotated[int | None, typer.Option(help="0 (original) to 8.")]
Feature = Annotated[bool | None, typer.Option("--feature/--no-feature")]
Comments = Annotated[bool | None, typer.Option("--comments/--no-comments")]
FreeDownload = Annotated[bool | None, typer.Option("--free-download/--no-free-download")]
Watermark = Annotated[bool | None, typer.Option("--watermark/--no-watermark")]
AiGenerated = Annotated[bool | None, typer.Option("--ai-generated/--not-ai-generated")]
NoAi = Annotated[bool | None, typer.Option("--noai/--allow-ai")]


def options_of(
    *,
    description: str | None,
    tags: str | None,
    mature: str | None,
    mature_class: list[str] | None,
    gallery: list[str] | None,
    display_resolution: int | None,
    feature: bool | None,
    comments: bool | None,
    free_download: bool | None,
    watermark: bool | None,
    ai_generated: bool | None,
    noai: bool | None,
) -> dict[str, Any]:
    """The values by column of the table; None: not given."""
    return {
        "description": description,
        "tags": None if tags is None else [tag.strip() for tag in tags.split(",") if tag.strip()],
        "is_mature": None if mature is None else mature != "no",
        "mature_level": None if mature == "no" else mature,
        "mature_classification": mature_class or None,
        "gallery_ids": gallery or None,
        "display_resolution": display_resolution,
        "feature": feature,
        "allow_comments": comments,
        "allow_free_download": free_download,
        "add_watermark": watermark,
        "is_ai_generated": ai_generated,
        "noai": noai,
    }
