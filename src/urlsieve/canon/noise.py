"""The names of parameters that say how a visitor came, never what the page is: our own list, from the vendors' documentation.

A name is here only if a documented tool appends it to other people's links and no site is known to select content by it. Names
that are content somewhere (ref, source, cid, sid, uid, mc, ts, from, spm) belong into per-site rules. Compared in ASCII lower
case, whole names only. A change to this list changes identities: it needs a new VERSION.
"""

VERSION = 1

NAMES: tuple[str, ...] = (
    # Google Analytics: campaign parameters of the URL builder
    *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id"),
    *("utm_source_platform", "utm_creative_format", "utm_marketing_tactic"),
    # Google Ads, Display & Video, Merchant Center: click ids
    *("gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid"),
    # Google Analytics: cross-domain linker
    *("_ga", "_gl"),
    # Facebook, Microsoft Advertising, Yandex, Openstat, X, TikTok, Instagram, LinkedIn: click ids
    *("fbclid", "msclkid", "yclid", "ysclid", "_openstat", "twclid", "ttclid", "igshid", "li_fat_id"),
    # Mailchimp, Marketo
    *("mc_cid", "mc_eid", "mkt_tok"),
    # HubSpot
    *("_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp", "hsctatracking"),
    # Vero, Omeda Olytics, Wicked Reports, Rockerbox
    *("vero_id", "vero_conv", "oly_enc_id", "oly_anon_id", "wickedid", "rb_clickid"),
    # Matomo: campaign parameters, and their names from when it was Piwik
    *("mtm_campaign", "mtm_kwd", "mtm_keyword", "mtm_source", "mtm_medium", "mtm_content", "mtm_cid"),
    *("mtm_group", "mtm_placement"),
    *("pk_campaign", "pk_kwd", "pk_keyword", "pk_source", "pk_medium", "pk_content", "pk_cid"),
)
