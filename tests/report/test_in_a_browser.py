"""The page of a real run in a real browser: no complaint, what is clicked opens, light and dark.

Needs Chromium and its driver (Debian: `apt-get install chromium chromium-driver`). Pictures of what
it sees are kept in the folder that `--pictures FOLDER` names.
"""

from __future__ import annotations

import os
import runpy
import shutil
from pathlib import Path

import pytest

import tilewright

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs a browser: apt-get install chromium chromium-driver"
)
WHAT_RUNS_WITHOUT_A_SCREEN = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    selenium = pytest.importorskip("selenium.webdriver")
    options = selenium.ChromeOptions()
    options.binary_location = BROWSER
    for word in (*WHAT_RUNS_WITHOUT_A_SCREEN, "--window-size=1240,900", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # It leaves its lock in the folder for temporary files.
    own = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("browser"))}
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER, env=own))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, made, tmp_path):
    """opened(*seeds): the browser at the page of these runs; in the end nothing was wrong with it."""

    def open_page(*seeds):
        page = tilewright.report.write([made(seed) for seed in seeds], tmp_path / "page.html")
        browser.get(page.as_uri())
        return browser

    yield open_page
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.fixture
def picture(browser, pytestconfig):
    """picture(name): keep what is seen, where a folder is named for it."""

    def keep(name):
        folder = pytestconfig.getoption("--pictures")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            browser.save_screenshot(str(Path(folder) / f"{name}.png"))

    return keep


def find(browser, selector):
    return browser.find_element("css selector", selector)


def wait_until_open(browser, selector):
    """The page hears of the new address a little after the click."""
    wait = pytest.importorskip("selenium.webdriver.support.wait")
    wait.WebDriverWait(browser, timeout=60).until(
        lambda _: find(browser, selector).get_property("open")
    )


def test_it_opens_without_a_complaint_and_fetches_nothing(opened, picture):
    browser = opened(0)
    fetched = browser.execute_script(
        "return performance.getEntriesByType('resource').map((one) => one.name)"
    )
    assert [name for name in fetched if not name.startswith("data:")] == []
    assert find(browser, "h1").text == "tiny"
    picture("top")


def test_a_click_on_a_kernel_opens_its_details_and_code(opened, picture):
    browser = opened(0)
    details = find(browser, "#kernel-1")
    assert not details.get_property("open")
    find(browser, "td a[href='#kernel-1']").click()
    wait_until_open(browser, "#kernel-1")
    folded = details.find_elements("css selector", ".inside-fold > details > summary")
    assert len(folded) == 2
    folded[0].click()
    assert details.find_element("css selector", "pre").is_displayed()
    picture("kernel")


def test_a_click_on_a_bar_of_the_chart_leads_there_too(opened):
    browser = opened(0)
    browser.execute_script(
        "document.querySelector('#kernels a.part').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    wait_until_open(browser, "#kernel-0")


def test_a_table_is_sorted_by_the_column_that_is_clicked(opened):
    browser = opened(0)
    table = find(browser, "#kernels table.sortable")

    def column(number):
        cells = table.find_elements("css selector", f"tbody td:nth-child({number})")
        return [float(cell.get_attribute("data-v")) for cell in cells]

    head = table.find_elements("css selector", "th")[2]
    head.click()
    assert column(3) == sorted(column(3), reverse=True)
    head.click()
    assert column(3) == sorted(column(3))
    head.send_keys("\n")
    assert column(3) == sorted(column(3), reverse=True)


@pytest.mark.parametrize("mark", ["#kernels .part", "#kernels svg circle"])
def test_a_mark_says_what_it_is_when_pointed_at_and_when_it_has_the_focus(mark, opened):
    browser = opened(0)
    browser.execute_script(
        "const mark = document.querySelector(arguments[0]), box = mark.getBoundingClientRect();"
        "mark.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: box.x, clientY: 9}))",
        mark,
    )
    assert "of the network" in find(browser, "#tip").text
    browser.execute_script("document.getElementById('tip').textContent = ''")
    browser.execute_script("document.querySelector(arguments[0]).closest('a').focus()", mark)
    assert "of the network" in find(browser, "#tip").text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_light_or_dark_as_is_asked(theme, opened, picture):
    browser = opened(0)
    button = find(browser, "#theme")
    if button.text.lower() == theme:
        button.click()

    def brightness(name):
        colour = browser.execute_script(
            f"return getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)"
        )
        return sum(colour[:3]) / 3

    paper, ink = brightness("backgroundColor"), brightness("color")
    assert (paper > 200 and ink < 80) if theme == "light" else (paper < 50 and ink > 180)
    for part in ("kernels", "tuning", "landscape", "layouts"):
        browser.execute_script(f"document.getElementById('{part}').scrollIntoView()")
        picture(f"{part}-{theme}")


def test_it_is_read_without_scripts(opened, browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page = opened(0)
        assert find(page, "#kernels table").is_displayed()
        assert find(page, "#kernels svg").size["width"] > 600
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_runs_side_by_side_open_as_well(opened, picture):
    browser = opened(0, 1)
    assert find(browser, "#changes-1 table").is_displayed()
    picture("side-by-side")


def test_on_a_narrow_screen_nothing_is_wider_than_it(opened, browser):
    browser.set_window_size(420, 800)
    try:
        page = opened(0)
        widths = page.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert widths[0] <= widths[1]
    finally:
        browser.set_window_size(1240, 900)


CUT_OFF = """
return [...document.querySelectorAll("main *")].filter((one) =>
  getComputedStyle(one).display !== "inline" && one.checkVisibility() && !one.closest("svg, .part")
  && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0
).map((one) => one.outerHTML.slice(0, 120));
"""


def test_on_paper_nothing_is_cut_off(opened, browser):
    browser.set_window_size(718, 900)  # A4 but its margins
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page = opened(0)
        for name in ("run", "latency", "kernels", "layouts", "tuning"):
            assert find(page, f"#{name}").is_displayed()
        assert not find(page, "nav").is_displayed()
        assert page.execute_script(CUT_OFF) == []
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.set_window_size(1240, 900)


TALL = """
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="888" viewBox="0 0 888 17000"/>';
const picture = document.querySelector(".paper img");
picture.src = `data:image/svg+xml;base64,${btoa(svg)}`;
return picture.decode();
"""


def test_on_paper_a_drawing_of_many_layers_is_as_tall_as_a_page_at_most(opened, browser):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page = opened(0)
        page.execute_script(TALL)
        size = find(page, ".paper img").size
        a4 = 1123  # pixels
        assert 0.7 * a4 < size["height"] < 0.9 * a4
        assert size["width"] == pytest.approx(size["height"] * 888 / 17000, abs=2)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_parts_of_which_the_site_has_pictures_are_on_the_page(opened):
    browser = opened(0)
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "screenshots.py"))
    for begin, end, _ in script["PARTS"].values():
        assert find(browser, begin).rect["y"] < find(browser, end).rect["y"]
