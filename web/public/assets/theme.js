// Before anything is painted: the theme that was chosen, so that nothing flashes.
(function () {
  try {
    var chosen = localStorage.getItem("towline.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Without storage the system's theme it is.
  }
})();
