"""How languages say chapter, episode, volume and extra: alternatives of regular expressions that ignore case.

English, French, Spanish, Portuguese, Italian, Catalan, Romanian, German, Dutch, Polish, Czech, Hungarian,
Greek, Russian, Ukrainian, Turkish, Vietnamese, Indonesian, Tagalog, Thai, Arabic, Hebrew, Hindi, Chinese,
Japanese, Korean.
"""

CHAPTER = (
    r"chapters?|chap|chpt?|chs?|c(?=\.?\d)|chapitres?|cap[ií]tulos?|cap[ií]tol|capitol[oi]|capitolul|cap|"
    r"kapitel|kapitola|kap|hoofdstuk|rozdzia[lł]|fejezet|κεφάλαιο|глав[аы]|гл|розділ|bölüm|bolum|chương|chuong|"
    r"bab|kabanata"
)
# Scripts that put no space between words: the patterns cannot require a word boundary before these.
CHAPTER_UNSPACED = r"ตอนที่|ตอน|บทที่|บท|الفصل|فصل|פרק|अध्याय|챕터|チャプター"
CHAPTER_AFTER_NUMBER = r"[話话回화회]|глава|розділ|bölüm|bolum|kapitel|fejezet"
# In Chinese and Korean these may hold several 话, so they are tried only if there is no 话.
PART_AFTER_NUMBER = r"[章장]"
EPISODE = r"episodes?|épisodes?|epis[oó]dios?|eps?|e(?=\d)|эпизод|серия|folge"
EPISODE_UNSPACED = r"에피소드|エピソード"

VOLUME = r"volumes?|volumen|vol|v(?=\.?\d)|tomes?|tomo|том|band|cilt|tập|quyển"
VOLUME_UNSPACED = r"เล่มที่|เล่ม"
VOLUME_AFTER_NUMBER = r"\s?[巻卷册冊권]"
SEASON = r"season|saison|temporada|stagione|staffel|сезон|sezon|s(?=\d)"
SEASON_UNSPACED = r"ซีซั่น|시즌|シーズン"
SEASON_AFTER_NUMBER = r"\s?[季期部부]|(?:st|nd|rd|th)\sseason"

# Mihon's words: after a number they make it a fraction.
EXTRA = r"extra|omake|special"
# Things that are counted on their own: `Bonus 2` is not chapter 2.
SPECIAL = (
    r"extras?|omake|specials?|bonus|side[\s-]?story|one[\s-]?shot|prologue|epilogue|"
    r"番外[編篇编]?|特別[編篇]?|외전|특별편"
)
