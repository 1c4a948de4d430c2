// Runs at the end of each page, and sends what it finds to the frame around it.
{
  const made = document.createElement("table");
  for (const text of ["=1+1", "-5.2", "+3.1 %", "-", '@x,"y"', " +SUM(A1)"]) {
    const row = made.insertRow();
    row.insertCell().textContent = text;
    row.insertCell().textContent = "b";
  }
  const api = window.underlapPage;
  const timelines = api.timelines.map((timeline) => {
    timeline.zoom(4, 0);
    const zoomed = timeline.plot.getAttribute("viewBox").split(" ").map(Number);
    timeline.zoom(1e9);
    const closest = Math.round(timeline.width / timeline.shown);
    timeline.svg.dispatchEvent(new KeyboardEvent("keydown", {key: "0"}));
    const labels = timeline.axis.querySelectorAll("text").length;
    return {zoomed: timeline.width / zoomed[2], from: zoomed[0], closest, fit: timeline.shown === timeline.width, labels};
  });
  const boxes = [...document.querySelectorAll("div.table")];
  parent.postMessage(JSON.stringify({
    page: document.documentElement.dataset.page,
    width: innerWidth,
    scroll: document.documentElement.scrollWidth,
    timelines,
    csv: api.commaSeparated(made),
    tab_separated: api.tabSeparated(made),
    tables: boxes.length,
    table_buttons: boxes.reduce((sum, box) => sum + box.querySelectorAll("button").length, 0),
    foreign: document.querySelectorAll("img, iframe, a:not([href^='#'])").length,
    scripts: document.scripts.length,
    terms: document.querySelectorAll("dt").length,
  }), "*");
}
