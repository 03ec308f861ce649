
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (hash) => {
    try { return document.getElementById(decodeURIComponent(hash.slice(1))); } catch { return null; }
  };

  // Filters. With no verdict pressed every verdict is shown.
  const form = document.querySelector(".filters");
  const checks = all(".check").map((el) => ({
    el,
    id: el.dataset.check,
    area: el.dataset.area,
    verdicts: el.dataset.verdicts.split(" "),
    text: null,
  }));
  const rows = new Map(all(".matrix tr[data-check]").map((el) => [el.dataset.check, el]));
  const apply = () => {
    const verdicts = all(".chip[aria-pressed=true]", form).map((el) => el.dataset.verdict);
    const area = form.elements.area.value;
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const c of checks) {
      let fits = (!area || c.area === area) && (!verdicts.length || verdicts.some((v) => c.verdicts.includes(v)));
      if (fits && words.length) {
        c.text ??= c.el.textContent.toLowerCase();
        fits = words.every((w) => c.text.includes(w));
      }
      c.el.hidden = !fits;
      const row = rows.get(c.id);
      if (row) row.hidden = !fits;
      if (fits) shown++;
    }
    for (const el of all("section.area")) el.hidden = !el.querySelector(".check:not([hidden])");
    for (const el of all(".matrix tbody")) el.hidden = !el.querySelector("tr[data-check]:not([hidden])");
    form.querySelector("output").textContent =
      shown === checks.length ? `${shown} checks` : `${shown} of ${checks.length} checks`;
  };
  if (form) {
    form.hidden = false;
    for (const chip of all(".chip", form)) {
      chip.addEventListener("click", () => {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        apply();
      });
    }
    form.addEventListener("input", apply);
    form.addEventListener("submit", (e) => e.preventDefault());
    form.addEventListener("reset", () => {
      for (const chip of all(".chip", form)) chip.setAttribute("aria-pressed", "false");
      setTimeout(apply);
    });
    // A link may preset them: report.html?verdict=fail&verdict=warn&area=tools&text=cursor
    const preset = new URLSearchParams(location.search);
    for (const chip of all(".chip", form)) {
      if (preset.getAll("verdict").includes(chip.dataset.verdict)) chip.setAttribute("aria-pressed", "true");
    }
    form.elements.text.value = preset.get("text") || "";
    form.elements.area.value = preset.get("area") || "";
    apply();
  }

  // A link to an outcome opens what hides it.
  const reveal = () => {
    const target = location.hash.length > 1 && byId(location.hash);
    if (!target) return;
    const check = target.closest(".check");
    if (check && check.hidden) form.reset();
    for (let el = target; el; el = el.parentElement) if (el.tagName === "DETAILS") el.open = true;
    setTimeout(() => target.scrollIntoView({ block: "start" }));
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (e) => {
    const link = e.target.closest && e.target.closest('a[href^="#"]');
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  reveal();

  // The clipboard interface is missing where the page is not a secure context.
  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.previousElementSibling;
      let copied = false;
      try {
        await navigator.clipboard.writeText(code.textContent);
        copied = true;
      } catch {
        const range = document.createRange();
        range.selectNodeContents(code);
        const selection = getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
        copied = document.execCommand("copy");
      }
      button.textContent = copied ? "Copied" : "Press Ctrl+C";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // On paper nothing can be opened: print what is wrong in full.
  addEventListener("beforeprint", () => {
    for (const c of checks) {
      if (c.verdicts.some((v) => v === "fail" || v === "warn" || v === "broken")) c.el.open = true;
    }
  });
})();
