"""Write the outlines of a font as text, one character per line: `python outlines.py FONT.ttf > OUTLINES.txt` (needs fonttools).

A line is the number of the character in hexadecimal digits, how far the next letter stands from it, and its outline: `Mx,y` begins a
curve, `Lx,y` goes straight, `Qx1,y1,x,y` by a parabola, `Z` closes. Lengths are in units of the font's design, of which the first line
says how many make the size of the letters.
"""

import sys

from fontTools.pens.basePen import decomposeQuadraticSegment
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont


def words(command, points):
    if command == "qCurveTo":
        if points[-1] is None:
            raise SystemExit("a closed curve without a point on it: not seen in this font")
        for off, on in decomposeQuadraticSegment(points):
            yield "Q%g,%g,%g,%g" % (*off, *on)
    elif command == "closePath":
        yield "Z"
    else:
        yield "%s%d,%d" % ({"moveTo": "M", "lineTo": "L"}[command], *points[0])


def main(path):
    font = TTFont(path)
    glyphs = font.getGlyphSet()
    print(font["head"].unitsPerEm)
    for number, name in sorted(font.getBestCmap().items()):
        pen = DecomposingRecordingPen(glyphs)
        glyphs[name].draw(pen)
        outline = " ".join(word for command, points in pen.value for word in words(command, points))
        print(f"{number:04x} {glyphs[name].width} {outline}".rstrip())


main(sys.argv[1])
