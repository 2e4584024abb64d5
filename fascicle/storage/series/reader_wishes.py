"""SQL fragments about a reader's wishes. They use app_user u, library_entry e, logical_chapter c, series."""

# The languages that this person reads, for this series or in general; null: any.
WANTED_LANGUAGES = "coalesce(e.languages, nullif(u.languages, '{}'))"

# Where numbering restarts, a read mark with a volume does not cover chapters without one, and vice versa.
_VOLUME = "case when c.volume ~ '^[0-9]{1,9}([.][0-9]+)?$' then cast(c.volume as numeric) end"
IS_READ = f"""coalesce(case
  when not series.numbering_restarts then c.number <= e.read_number
  when e.read_volume is null then {_VOLUME} is null and c.number <= e.read_number
  else ({_VOLUME}, c.number) <= (e.read_volume, e.read_number) end, false)"""

# The upload for this reader: one that can be read, then the preferred source, then the preferred language.
LINK = f"""(select up.url from chapter_source s join source on source.id = s.source_id
  join chapter_upload up on up.source_id = s.source_id and up.chapter_key = s.chapter_key
  where s.chapter_id = c.id
  order by (s.unavailable_at is null and not up.unavailable) desc,
    coalesce(e.preferred_source in (source.site, source.id), false) desc,
    array_position({WANTED_LANGUAGES}, up.language) nulls last, up.external, s.id, up.published_at
  limit 1)"""
