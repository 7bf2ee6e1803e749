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

WIDE: tuple[str, ...] = (
    # Switch noise_wide only: content on some site, but on most what a link's author noted about its place or its reader's way.
    *("ref", "ref_", "ref_src", "ref_url", "referer", "referrer", "refid", "source", "src", "from", "origin", "via", "spm"),
    *("ts", "mc", "cid"),
    *("campaign", "campaignid", "campaign_id", "cmp", "cmpid", "ncid", "icid", "ito", "wt_mc", "sc_campaign", "s_kwcid", "at_medium"),
    *("at_campaign", "trk", "trkcampaign", "tracking", "trackingid", "aff", "affid", "affiliate", "partner", "_branch_match_id"),
    *("piwik_campaign", "piwik_kwd", "matomo_campaign", "hsa_acc", "hsa_cam", "hsa_grp", "hsa_ad", "hsa_src", "hsa_net", "hsa_ver"),
    *("utm_name", "utm_cid", "utm_reader", "utm_referrer", "utm_social", "utm_brand", "utm_pubreferrer", "utm_swu", "utm_viz_id"),
    *("fb_action_ids", "fb_action_types", "fb_ref", "fb_source", "action_object_map", "action_type_map", "action_ref_map"),
    *("igsh", "si", "feature", "share", "shared", "smid", "smtyp", "ocid", "ef_id", "epik", "rdt_cid", "irclickid", "_kx"),
)

SESSIONS: tuple[str, ...] = (
    # Switch session_wide only: with any value.
    *("sid", "s_id", "sess", "session", "sessid", "sessionid", "session_id", "phpsessid", "jsessionid", "aspsessionid"),
    *("asp.net_sessionid", "cfid", "cftoken", "zenid", "oscsid", "osccsid", "xtcsid", "viewstate", "__viewstate"),
)
