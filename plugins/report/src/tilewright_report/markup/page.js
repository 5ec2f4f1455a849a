"use strict";
(() => {
  const root = document.documentElement;
  const kept = { get() { try { return localStorage.getItem("tilewright-theme"); } catch { return null; } },
                 set(theme) { try { localStorage.setItem("tilewright-theme", theme); } catch { /* not kept */ } } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (kept.get()) root.dataset.theme = kept.get();

  const theme = document.createElement("button");
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.id = "theme";
  theme.onclick = () => { root.dataset.theme = dark() ? "light" : "dark"; kept.set(root.dataset.theme); name(); };
  name();
  document.querySelector("nav > div")?.append(theme);

  // A link to something that is folded opens it, and what it is in.
  const unfold = () => {
    const aim = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = aim; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (aim) aim.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) unfold();
  });
  unfold();

  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head) => { head.tabIndex = 0; head.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      head.click();
    }; });
    heads.forEach((head, column) => head.addEventListener("click", () => {
      const up = head.ariaSort ? head.ariaSort === "descending" : !head.classList.contains("n");
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        const numbers = typeof x === "number" && typeof y === "number";
        if (!numbers && (typeof x === "number" || typeof y === "number")) return typeof x === "number" ? -1 : 1;
        return (numbers ? x - y : x.localeCompare(y, undefined, { numeric: true })) * (up ? 1 : -1);
      });
      table.tBodies[0].append(...rows);
    }));
    const box = table.parentElement;
    if (table.tBodies[0].rows.length > 30) {
      box.classList.add("more");
      const button = document.createElement("button");
      button.className = "expand";
      button.textContent = `All ${table.tBodies[0].rows.length} rows`;
      button.onclick = () => { box.classList.add("open"); button.remove(); };
      box.after(button);
    }
  }

  for (const paper of document.querySelectorAll(".paper")) {
    const picture = paper.querySelector("img");
    const width = picture.naturalWidth || 1000;
    let scale = Math.min(1, Math.max(0.3, paper.clientWidth / width));
    const show = () => { picture.style.width = `${width * scale}px`; };
    const bar = document.createElement("p");
    bar.className = "zoom";
    for (const [label, factor] of [["Larger", 1.4], ["Smaller", 1 / 1.4], ["Whole", 0]]) {
      const button = document.createElement("button");
      button.textContent = label;
      button.onclick = () => { scale = factor ? scale * factor : paper.clientWidth / width; show(); };
      bar.append(button);
    }
    paper.before(bar);
    show();
  }

  // What a mark says, at once; the browser's own hint would come late.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const told = (mark) => mark && [...mark.children].find((child) => child.tagName === "title")?.textContent;
  const say = (text, x, y) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
    const above = y + 18 + tip.offsetHeight > innerHeight;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${above ? y - tip.offsetHeight - 10 : y + 16}px`;
  };
  for (const part of document.querySelectorAll(".part")) {
    part.dataset.said = part.title;
    part.removeAttribute("title");
  }
  document.addEventListener("pointermove", (event) => {
    const text = event.target.closest?.(".part")?.dataset.said ?? told(event.target.closest?.(".chart *, .spark *"));
    say(text, event.clientX, event.clientY);
  });
  document.addEventListener("focusin", (event) => {
    const at = event.target, box = at.getBoundingClientRect();
    say(at.dataset?.said ?? told(at.closest(".chart a")?.firstElementChild), box.x, box.bottom);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
})();
