"""XML from untrusted files."""

from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from fascicle.domain.xml_limits import has_endless_tag
from fascicle.imports.wanted import unusable


def parse_xml(data: bytes) -> Element:
    """The root element. Entities are refused, because they allow XML bombs."""
    if has_endless_tag(data.replace(b"\0", b"").decode("latin-1")):  # markup is ASCII, also in UTF-16
        raise unusable("The XML has a tag of hundreds of attributes: no tracker or reader wrote it.")
    try:
        root: Element = fromstring(data)
    except DefusedXmlException as error:
        raise unusable("The XML defines entities, which no tracker's export does; it is not read.") from error
    except (ParseError, ValueError, LookupError) as error:
        raise unusable(f"The XML is damaged or incomplete: {error}. Export it again.") from error
    return root
