"""XML that a stranger may have written."""

from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from fascicle.imports.wanted import unusable


def parse_xml(data: bytes) -> Element:
    """The root; entities, which bombs are made of, are refused."""
    try:
        root: Element = fromstring(data)
    except DefusedXmlException as error:
        raise unusable("The XML defines entities, which no tracker's export does; it is not read.") from error
    except (ParseError, ValueError, LookupError) as error:
        raise unusable(f"The XML is damaged or incomplete: {error}. Export it again.") from error
    return root
