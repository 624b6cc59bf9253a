// The ask box: the service answers where it is configured and reachable, else the built-in search opens.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("kb-ask");
  if (!form) return;

  const reachable = (service) =>
    fetch(new URL("healthz", service), { mode: "no-cors", signal: AbortSignal.timeout(2000) }).then(() => true, () => false);

  const search = (question) => {
    const query = document.querySelector("[data-md-component=search-query]");
    const toggle = document.querySelector("[data-md-toggle=search]");
    if (!toggle.checked) toggle.click(); // a click, so that the theme hears of it
    query.value = question;
    query.focus();
    query.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const question = form.elements.q.value.trim();
    if (!question) return;
    const service = form.dataset.service && `${form.dataset.service.replace(/\/+$/, "")}/`;
    if (service && (await reachable(service))) {
      location.assign(`${service}?${new URLSearchParams({ q: question, mode: "ask" })}`);
    } else {
      search(question);
    }
  });
});
