"""How the documentation is built: `make docs`.

Nothing is loaded from a network, neither here nor by the pages: mathematics is MathML, fonts and
scripts are those of the theme.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
os.environ.setdefault("MPLBACKEND", "agg")

project = "dikmeans"
author = "The dikmeans developers"
copyright = author
release = version = installed_version("dikmeans")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "mathml",
    "api_pages",
    "command_line_page",
]
# worked tutorials are listed among the others, not on a page of their own
exclude_patterns = ["_build", "pictures", "**/GALLERY_HEADER.rst", "tutorials/worked/index.rst"]
templates_path = ["_templates"]
default_role = "autolink"
smartquotes = False  # two hyphens are an option, and quotes stand in code

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc names the types
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]
numpydoc_show_class_members = False

plot_formats = [("png", 150)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_working_directory = str(HERE / "pictures")
plot_rcparams = {"savefig.bbox": "tight"}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery", "../examples/tutorials"],
    "gallery_dirs": ["gallery", "tutorials/worked"],
    "filename_pattern": r"\.py$",
    "image_scrapers": ("figure_scraper.scrape_figures",),
    "reset_modules": ("matplotlib", "plain_warnings.show_warnings_plainly"),
    "ignore_repr_types": r"matplotlib",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "reference/api/examples",
    "doc_module": ("dikmeans",),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 3600,  # times are those of the machine that builds
    "write_computation_times": False,  # its table loads scripts from elsewhere
    "parallel": 2,
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "dikmeans"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "dikmeans"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_sidebars = {"index": [], "start": []}
