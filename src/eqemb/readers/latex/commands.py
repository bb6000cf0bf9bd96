"""Tables of commands and environments: what the reader knows about LaTeX.

Only what affects reading is listed. A command in none of these tables is reported as unknown and
read as formatting: its name is dropped and its arguments are text.
"""

from typing import Final

from eqemb.article import DOLLAR
from eqemb.formula import MATHEMATICS


def names(text: str) -> frozenset[str]:
    """The names in a text, as a set."""
    return frozenset(text.split())


# ---------------------------------------------------------------- displays

#: Environments whose every row may carry a number.
ROW_DISPLAYS: Final = names(
    "align eqnarray gather flalign alignat xalignat IEEEeqnarray numcases subnumcases subeqnarray"
)
#: Environments that carry one number.
SINGLE_DISPLAYS: Final = names("equation multline dmath dseries eqn")
#: Displays that never carry a number (the starred forms are added below).
PLAIN_DISPLAYS: Final = names("displaymath xxalignat eqalign mathpar")

NUMBERED_DISPLAYS: Final = ROW_DISPLAYS | SINGLE_DISPLAYS
UNNUMBERED_DISPLAYS: Final = PLAIN_DISPLAYS | frozenset(
    f"{name}*" for name in NUMBERED_DISPLAYS | PLAIN_DISPLAYS
)
DISPLAYS: Final = NUMBERED_DISPLAYS | UNNUMBERED_DISPLAYS
#: Mandatory arguments after \begin of a display that are not mathematics ("alignat{2}").
DISPLAY_ARGUMENTS: Final = {
    name + star: 1
    for name in ("alignat", "xalignat", "xxalignat", "IEEEeqnarray")
    for star in ("", "*")
}
#: Displays that number their own rows 2a, 2b, ...
GROUP_DISPLAYS: Final = names("subeqnarray subnumcases")
#: Environments around displays that number them so.
SUBEQUATIONS: Final = names("subequations mathletters dgroup") | GROUP_DISPLAYS

# ---------------------------------------------------------------- environments

#: Not LaTeX inside: skipped up to the matching \end before any other processing.
VERBATIM: Final = names(
    "verbatim verbatim* Verbatim BVerbatim LVerbatim SaveVerbatim verbatimtab alltt lstlisting "
    "minted comment filecontents filecontents* semiverbatim pyconsole pycode luacode luacode* "
    "spverbatim listing* tcblisting codeblock asy sagesilent sageblock Sinput Soutput Schunk "
    "dot2tex"
)
#: Drawings and data: skipped like verbatim.
DRAWINGS: Final = names(
    "tikzpicture tikzpicture* pgfpicture picture pspicture circuitikz forest axis scope "
    "pgfonlayer bytefield dependency CCSXML feynmandiagram tikzcd xy overpic psfrags "
    "dag avm qtree tikz mermaid"
)
#: Words inside are not running text; displays inside are still read.
MUTED: Final = names(
    "figure figure* table table* wrapfigure wraptable sidewaystable sidewaysfigure SCfigure "
    "figwindow floatingfigure marginfigure margintable teaserfigure subfigure subtable tabular "
    "tabular* tabularx tabulary tabu longtable supertabular xtabular tabbing threeparttable "
    "longtabu NiceTabular tblr algorithmic algorithmic* algorithm algorithm* algorithm2e "
    "procedure pseudocode program thebibliography bibdiv biblist references authors titlepage "
    "icmlauthorlist tablenotes TAB keyboard deluxetable deluxetable* splitdeluxetable "
    "splitdeluxetable* longrotatetable rotatetable longtable* longtblr talltblr NiceTabular* "
    "NiceTabularX mpsupertabular xltabular ltablex ruledtabular tableplus"
)
#: Mandatory arguments after \begin{name} that are not text.
ENVIRONMENT_ARGUMENTS: Final = {
    "minipage": 1, "tabular": 1, "tabular*": 2, "tabularx": 2, "tabulary": 2, "longtable": 1,
    "multicols": 1, "wrapfigure": 2, "wraptable": 2, "adjustbox": 1, "subfigure": 1,
    "subtable": 1, "restatable": 2, "restatable*": 2, "thebibliography": 1, "list": 2,
    "thm-restate": 2, "spacing": 1, "adjustwidth": 2, "textblock": 1, "varwidth": 1,
    "columns": 0, "column": 1, "array": 1, "tabu": 0, "supertabular": 1, "parcolumns": 1,
    "floatingfigure": 1, "empheq": 0, "otherlanguage": 1, "foreignlanguage": 1, "easylist": 0,
    "labeling": 1, "addmargin": 1, "mdframed": 0, "frame": 0, "fminipage": 1, "boxedminipage": 1,
    "lrbox": 1, "NoHyper": 0, "rotate": 1, "turn": 1, "hyphenrules": 1, "deluxetable": 1,
    "deluxetable*": 1, "splitdeluxetable": 1, "splitdeluxetable*": 1, "longtblr": 1, "tblr": 1,
    "talltblr": 1, "CJK": 2, "CJK*": 2, "xltabular": 2, "longtable*": 1, "NiceTabular": 1,
}  # fmt: skip
#: Environments whose optional argument is text (a theorem's name).
OPTIONAL_IS_TEXT: Final = names(
    "theorem lemma proposition corollary definition remark example proof claim fact conjecture "
    "assumption property observation thm lem prop cor defn rem"
)

#: Environments whose mandatory argument is a title.
TITLED: Final = names("block alertblock exampleblock frame")

#: Statements and lists: sentences do not continue across their borders.
SEPARATE: Final = OPTIONAL_IS_TEXT | names("abstract itemize enumerate description quotation")

#: Environments that are read as text, or of which the reader knows something else.
TEXT_ENVIRONMENTS: Final = (
    MUTED
    | frozenset(ENVIRONMENT_ARGUMENTS)
    | SEPARATE
    | SUBEQUATIONS
    | names("""
    document center flushleft flushright quote verse trivlist appendix appendices subappendices
    titlingpage landscape acknowledgements acknowledgments acknowledgement acks ack keywords
    keyword frontmatter backmatter small footnotesize scriptsize large Large normalsize sloppypar
    tcolorbox framed shaded leftbar multicols* exercise exercises question questions solution
    problem problems answer note notes notation lemma* theorem* block alertblock exampleblock
    frame column columns onecolumn twocolumn strip widetext acronym letter
    CJK CJK* english french german otherlanguage* refsection refsegment thenomenclature
    highlights graphicalabstract bmatrix pmatrix array aligned
    """)
)

# ---------------------------------------------------------------- commands in text

HEADINGS: Final = {
    "part": 0, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4,
    "paragraph": 5, "subparagraph": 6, "addchap": 1, "addsec": 2, "chap": 1,
}  # fmt: skip
TITLE_COMMANDS: Final = names("title icmltitle papertitle Title titre aistatstitle mlsystitle")
#: A sentence with one of these refers to the labels in its argument.
REFERENCES: Final = names(
    "ref eqref cref Cref autoref autorefs vref Vref pageref nameref labelcref crefrange Crefrange "
    "fref Fref prettyref refeq Autoref hyperref vpageref eqrefs Eqref subref zcref thref "
    "refrange subeqref"
)
#: Those that print the number in parentheses.
REFERENCES_IN_PARENTHESES: Final = names("eqref eqrefs Eqref refeq subeqref")
#: With showonlyrefs or autonum, an equation that one of these refers to is numbered.
EQUATION_REFERENCES: Final = names("eqref refeq cref Cref autoref labelcref ref vref crefrange")
#: Separate text, placed after the current paragraph: the last argument is read.
ASIDES: Final = {
    "footnote": 1, "footnotetext": 1, "caption": 1, "captionof": 2, "sidenote": 1, "marginnote": 1,
    "marginpar": 1, "endnote": 1, "bicaption": 2, "topcaption": 1, "tablefootnote": 1,
    "abovecaption": 1, "tabcaption": 1, "figcaption": 1, "tablecaption": 1, "figcaptions": 1,
}  # fmt: skip

#: What they print is in the bibliography: a hole in the text.
CITATIONS: Final = names("""
    cite citep citet citealp citealt citeauthor citeyear citeyearpar citenum citetext Citet
    Citep Citealp Citealt Citeauthor parencite textcite footcite autocite Parencite Textcite
    Autocite smartcite supercite fullcite nocite citeN citeA citeNP citeasnoun shortcite
    shortciteN onlinecite footfullcite citeyearNP shortciteA newcite citeposs possessivecite
    citeauthornum notecite citeay cites textcites parencites
""")

_DROP_1 = """
    bibliography bibliographystyle
    addbibresource printbibliography bibitem includegraphics includesvg includepdf psfig epsfig
    epsfbox graphicspath DeclareGraphicsExtensions vspace hspace addvspace pagestyle
    thispagestyle pagenumbering thanks author authors affil affiliation address institute
    institution email date dedicatory acmConference icmlauthor icmlaffiliation
    icmlcorrespondingauthor icmlkeywords icmlsetsymbol icmltitlerunning titlerunning
    authorrunning runningtitle runningauthor runninghead tocauthor toctitle shorttitle
    shortauthors markright index glossary hypersetup usetikzlibrary tikzset pgfplotsset
    tikzstyle lstset captionsetup setlist geometry color pagecolor rowcolor columncolor
    cellcolor arrayrulecolor setcitestyle sisetup url path nolinkurl lstinputlisting
    verbatiminput numberline phantom vphantom usepackage RequirePackage documentclass
    documentstyle includeonly theoremstyle newcounter newlength newsavebox newdimen newskip
    newbox newtoks newcount newdimension hyphenation linespread selectlanguage fontfamily
    fontseries fontshape fontencoding bstctlcite protected@write ccsdesc acmDOI acmISBN acmYear
    acmPrice acmVolume acmNumber acmArticle acmMonth copyrightyear setcopyright authornote
    authornotemark orcid orcidID city state country postcode streetaddress department received
    editor volume jmlrheading firstpageno ShortHeadings editors ead cortext fntext corref fnref
    tnoteref tnotetext pacs PACS msc MSC ams AMS subjclass urladdr curraddr IEEEauthorblockN
    IEEEauthorblockA IEEEcompsocitemizethanks IEEEpubid todo fixme missingfigure listoftodos
    bookmark enlargethispage needspace input include subfile subfileinclude includestandalone
    bibliographyunit crefalias lhead rhead chead lfoot rfoot cfoot fancyhead fancyfoot fancyhf
    cmidrule cline hhline raisetag nextpage urlstyle theoremheaderfont theorembodyfont
    AtBeginDocument AtEndDocument excludecomment includecomment specialcomment arraystretch tag
    usebox sbox DeclareMathVersion mathversion aftergroup inst samethanks authorcr ltx@label
    """
#: name -> number of mandatory arguments that are not text (optional ones are always dropped).
DROP_ARGUMENTS: Final = dict.fromkeys([*_DROP_1.split(), *sorted(CITATIONS)], 1) | {
    "textcolor": 1, "colorbox": 1, "fcolorbox": 2, "href": 1, "markboth": 2, "setlength": 2,
    "addtolength": 2,
    "settowidth": 2, "settoheight": 2, "fontsize": 2, "addcontentsline": 3, "addtocontents": 2,
    "definecolor": 3, "colorlet": 2, "rule": 2, "raisebox": 1, "resizebox": 2, "scalebox": 1,
    "rotatebox": 1, "parbox": 1, "makebox": 0, "framebox": 0, "multicolumn": 2, "multirow": 2,
    "hypertarget": 1, "crefname": 3, "Crefname": 3, "crefformat": 2, "titleformat": 5,
    "titlespacing": 4, "sethlcolor": 1, "hyperlink": 1, "DeclareMathSymbol": 4,
    "DeclareSymbolFont": 5, "SetSymbolFont": 5, "DeclareMathAlphabet": 5, "SetMathAlphabet": 6,
    "lstdefinestyle": 2, "lstdefinelanguage": 2, "pdfbookmark": 2, "foreignlanguage": 1,
    "newglossaryentry": 2, "newacronym": 3, "DeclareCaptionFormat": 2, "bibinfo": 1,
    "providecolor": 3, "newfloat": 3, "floatname": 2, "floatstyle": 1, "restylefloat": 1,
    "setenumerate": 1, "setitemize": 1, "usefont": 4, "pgfmathsetmacro": 2, "fill": 0,
    "inputminted": 2, "import": 2, "subimport": 2, "stripsep": 0, "adjustbox": 1, "psfrag": 2,
    "fxnote": 1, "ctable": 3, "tablehead": 1, "tabletypesize": 1, "tablewidth": 1,
    "tablecolumns": 1, "tablenum": 1, "tablenotetext": 2, "tablerefs": 1, "tablecomments": 1,
    "startdata": 0, "enddata": 0, "SetTblrInner": 1, "SetTblrOuter": 1, "DefTblrTemplate": 3,
    "changes": 0, "overfullrule": 0, "specialrule": 3, "footnotemark": 0, "tikz": 1,
    "tcbset": 1,
}  # fmt: skip
#: Followed by a length that is not text ("\vskip 1em plus 2pt").
LENGTH_COMMANDS: Final = names(
    "vskip hskip kern mskip mkern parskip parindent baselineskip hangindent raise lower "
    "moveleft moveright hsize vsize textwidth textheight columnsep topmargin "
    "oddsidemargin evensidemargin parsep itemsep topsep abovedisplayskip belowdisplayskip "
    "abovecaptionskip belowcaptionskip tabcolsep arraycolsep floatsep textfloatsep intextsep "
    "dbltextfloatsep leftmargin rightmargin partopsep headsep footskip fboxsep fboxrule "
    "lineskip lineskiplimit jot abovedisplayshortskip belowdisplayshortskip leftskip rightskip "
    "parfillskip hoffset voffset magnification"
)
#: Boxes and rules of TeX, which a size may follow ("\\hbox to 3cm{..}", "\\hrule height 1pt").
SIZED: Final = names("hbox vbox vtop vcenter hrule vrule")
#: Characters written by name.
NAMED_CHARACTERS: Final = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å",
    "AA": "Å", "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ",
    "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "SS": "SS", "S": "§", "P": "¶",
    "copyright": "©", "pounds": "£", "dots": "…", "ldots": "…", "textellipsis": "…",
    "textendash": "–", "textemdash": "—", "textbackslash": " ", "textasciitilde": "~",
    "textunderscore": "_", "textquoteright": "’", "textquoteleft": "‘", "textquotedblleft": "“",
    "textquotedblright": "”", "TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e",
    "BibTeX": "BibTeX", "textregistered": "®", "texttrademark": "™", "textdegree": "°",
    "guillemotleft": "«", "guillemotright": "»", "textbar": "|", "textless": "<",
    "textgreater": ">", "euro": "€", "lq": "‘", "rq": "’", "slash": "/", "textdollar": DOLLAR,
    "textasteriskcentered": "*", "textbullet": "•", "textperiodcentered": "·", "quad": " ",
    "qquad": " ", "space": " ", "newline": " ", "hfill": " ", "linebreak": " ", "break": " ",
    "par": "\n\n", "thinspace": " ", "enspace": " ", "nobreakspace": " ",
    "etalchar": "", "cr": " ", "tabularnewline": " ", "hphantom": " ", "textsuperscript": " ",
}  # fmt: skip
#: Accent command -> combining character.
TEXT_ACCENTS: Final = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328",
    "r": "\u030a", "d": "\u0323", "b": "\u0331", "t": "\u0361",
}  # fmt: skip

#: Never redefined with another meaning.
UNTOUCHABLE: Final = names(
    "begin end documentclass document enddocument label ref eqref section subsection chapter item "
    "newcommand renewcommand def let if else fi input include usepackage csname endcsname"
)
#: Commands whose meaning the reader knows. Redefinitions by authors and styles change their
#: appearance, not their meaning, and are ignored.
STRUCTURAL: Final = (
    frozenset(HEADINGS) | TITLE_COMMANDS | REFERENCES | frozenset(ASIDES)
    | (frozenset(DROP_ARGUMENTS) - names("todo fixme tag phantom color index state"))
    | names("par newline space hfill linebreak quad qquad ldots dots")
    | names(
        "begin end item label maketitle appendix abstract endabstract nonumber notag document "
        "enddocument equation endequation align endalign eqnarray endeqnarray displaymath "
        "proof endproof thebibliography endthebibliography keywords and And AND "
        "footnotesize small normalsize large Large LARGE huge Huge tiny scriptsize "
        "textbf textit texttt textrm textsf textsc emph text mbox hbox underline "
        "bf it rm sf tt sc em frac sqrt sum int prod left right "
        "table endtable figure endfigure figurename tablename refname bibname contentsname "
        "abstractname tableofcontents listoffigures listoftables newblock "
        "newpage clearpage par centering intertext shortintertext "
        "eqalign eqalignno leqalignno displaylines"
    )
)  # fmt: skip

#: Packages of the LaTeX distribution that papers carry copies of: programs, not notation.
STANDARD_PACKAGES: Final = names(
    "acronym algorithm algorithmic algorithm2e algpseudocode algorithmicx amsmath amssymb amsthm "
    "appendix authblk bbm bm booktabs breqn caption cleveref cite color comment csquotes dsfont "
    "enumitem environ epsfig etoolbox fancyhdr fancyvrb float fullpage geometry glossaries "
    "graphicx hyperref lastpage listings lineno mathtools microtype minted multirow natbib "
    "nicefrac pgfplots setspace stmaryrd subcaption subfig subfigure subfiles tcolorbox thmtools "
    "thm-restate tikz times titlesec titling todonotes url wrapfig xcolor xparse xspace xstring "
    "xy soul ulem deluxetable fitch lgrind psfrag pstricks chngcntr autonum apacite chicago "
    "mdframed framed"
)


# ---------------------------------------------------------------- known names

#: Formatting and layout commands that leave their arguments as text: known, nothing to do.
_TEXT = names("""
    addlinespace arabic alph Alph roman Roman fnsymbol bf bfseries bfdefault bigskip boldmath
    bottomrule toprule midrule hline caption center centering centerline flushleft flushright
    clearpage cleardoublepage newpage pagebreak nopagebreak nolinebreak linewidth columnwidth
    paperwidth paperheight em emph enquote expandafter fbox footnotesize frenchspacing
    frontmatter mainmatter backmatter hfil hfill hss vfil vfill vss hrule vrule hrulefill
    dotfill ignorespaces unskip indent noindent it itshape item itdefault Large LARGE large
    huge Huge leavevmode leftline rightline listoffigures listoftables listofalgorithms
    lowercase uppercase MakeUppercase MakeLowercase maketitle makeatletter makeatother mbox hbox
    vbox vtop medskip smallskip medbreak smallbreak bigbreak mdseries md newblock normalfont
    normalsize nonfrenchspacing null onecolumn twocolumn onehalfspacing doublespacing
    singlespacing protect qed qedhere raggedleft raggedright raggedbottom flushbottom relax rm
    rmfamily sc scriptsize scshape sf sffamily sl slshape sloppy fussy small so st strut
    tableofcontents theendnotes
    textbf textcircled textit textmd textnormal textrm textsc textsf textsl
    textsubscript textsuperscript texttt textup theoremstyle tiny today tt ttfamily
    unboldmath underline uline uwave ul hl upshape vfuzz hfuzz hbadness vbadness tolerance
    xspace footnoterule global long noalign omit crcr span the thechapter theequation
    thefigure thefootnote thepage thesection thesubsection thetable theenumi appendix
    appendixname figurename tablename refname and And AND abstract keywords
    acknowledgements acknowledgments acknowledgement ack ddots looseness penalty balance
    lstlistingname proofname chaptername contentsname clubpenalty widowpenalty
    endfirsthead endhead endfoot endlastfoot emergencystretch hsize ifmmode fi else
    faGithub newline cleartooddpage noopsort BibitemOpen BibitemShut bibfield bibnamefont
    IEEEPARstart PARstart
    textls lettrine lsstyle hyp textquotesingle textasciicircum textasciimacron phantomsection
    StateX Statex If ElsIf Else EndIf For ForAll EndFor While EndWhile Repeat Until
    Procedure EndProcedure Function EndFunction Return Require Ensure Comment Input
    Output Call Loop EndLoop KwIn KwOut KwData KwResult uIf uElse lIf eIf SetKwInOut
    DontPrintSemicolon SetAlgoLined LinesNumbered STATE REQUIRE ENSURE IF ELSE ELSIF ENDIF
    FOR FORALL ENDFOR WHILE ENDWHILE REPEAT UNTIL RETURN PRINT COMMENT INPUT OUTPUT AND OR NOT TO
    algorithmicrequire algorithmicensure value arraystretch baselinestretch jot
    ensuremath text intertext shortintertext mathtoolsset xdef noexpand string detokenize
    unexpanded number romannumeral hangafter obeylines obeyspaces null smallcaps acresetall
    ac acp acf acs acl ACRO gls Gls glspl Glspl acrshort acrlong acrfull
    """)

#: Handled during expansion, or harmless in a preamble.
_PREAMBLE = names("""
    def gdef edef xdef let futurelet newcommand renewcommand providecommand newenvironment
    renewenvironment DeclareMathOperator DeclareRobustCommand DeclarePairedDelimiter
    DeclarePairedDelimiterX newif begin end verb lstinline mintinline input include subfile
    import csname endcsname catcode endinput newtheorem relax ProvidesPackage newcounter
    setcounter addtocounter stepcounter refstepcounter numberwithin counterwithin counterwithout
    """)

#: Every command name that is not reported as unknown.
KNOWN: Final = (
    _TEXT | MATHEMATICS | _PREAMBLE | LENGTH_COMMANDS | frozenset(NAMED_CHARACTERS)
    | frozenset(TEXT_ACCENTS) | frozenset(HEADINGS) | TITLE_COMMANDS | REFERENCES
    | frozenset(ASIDES) | frozenset(DROP_ARGUMENTS)
)  # fmt: skip
