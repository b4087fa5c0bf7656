/**
 * Keeps what stands beside a draft's form up to date while an editor writes: the problems beside
 * their fields, the launch plan and the respondent's page. It sends the form as the button "Update
 * what stands beside" does, which saves nothing, and puts in what has changed. Where the server is
 * busy with other drafts, it keeps what is shown and asks again. Without scripts there is the
 * button. Who leaves the page with changes that are not saved is asked first.
 */

const PAUSE_MS = 600;
const AGAIN_MS = 1500;
const form = document.querySelector("#draft-form");
let timer;
let asked = 0;
let unsaved = document.querySelector("[data-saved]")?.dataset.saved !== "yes";

function preview(root) {
  return root.querySelector("[data-live=page] iframe");
}

/** Puts another page into the frame without loading it, so that it stays where it was scrolled. */
function turn(frame, html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const shown = frame.contentDocument;
  if (shown?.body) shown.body.replaceWith(page.body);
  frame.setAttribute("data-shown", html);
}

function takeFrom(page) {
  const old = preview(document);
  const now = preview(page);
  for (const shown of document.querySelectorAll("[data-live]")) {
    if (shown.dataset.live === "page" && old && now) {
      const html = now.getAttribute("srcdoc");
      if (html !== (old.dataset.shown ?? old.getAttribute("srcdoc"))) turn(old, html);
      continue;
    }
    const next = page.querySelector(`[data-live="${CSS.escape(shown.dataset.live)}"]`);
    if (next !== null && next.innerHTML !== shown.innerHTML) {
      shown.replaceChildren(...next.childNodes);
    }
  }
  tellFaults(page);
}

/** The element after which a fault stands: its field, or the label in which that is. */
function placeOf(told) {
  const field = document.getElementById(told.id.slice(0, -"-fault".length));
  return field?.closest("label") ?? field;
}

/** Puts the faults of another page beside their fields, and takes away those that are gone. */
function tellFaults(page) {
  for (const shown of document.querySelectorAll(".faults")) {
    if (page.getElementById(shown.id) === null) shown.remove();
  }
  for (const told of page.querySelectorAll(".faults")) {
    const shown = document.getElementById(told.id);
    if (shown === null) placeOf(told)?.after(told);
    else if (shown.innerHTML !== told.innerHTML) shown.replaceChildren(...told.childNodes);
  }
  for (const field of form.elements) {
    const other = field.id ? page.getElementById(field.id) : null;
    if (other === null) continue;
    for (const name of ["aria-invalid", "aria-describedby"]) {
      const value = other.getAttribute(name);
      if (value === null) field.removeAttribute(name);
      else field.setAttribute(name, value);
    }
  }
}

function isBusy(page) {
  return page.querySelector("[data-busy]") !== null;
}

function lookIn(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(look, milliseconds);
}

async function look() {
  const turnOf = ++asked;
  const body = new URLSearchParams(new FormData(form));
  body.set("do", "look");
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    if (answer.status === 503 && turnOf === asked) lookIn(AGAIN_MS);
    // A page of sign-in, or a refusal: the next button that is pressed shows it.
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (turnOf !== asked) return;
    if (isBusy(page)) lookIn(AGAIN_MS);
    else takeFrom(page);
  } catch {
    // The server may come back before the next change.
  }
}

document.addEventListener("input", (event) => {
  if (event.target.form !== form) return;
  // The numbers of the plan are no part of the draft.
  unsaved ||= event.target.closest("aside") === null;
  lookIn(PAUSE_MS);
});

if (isBusy(document)) lookIn(AGAIN_MS);

form.addEventListener("submit", () => {
  unsaved = false;
});

addEventListener("beforeunload", (event) => {
  if (unsaved) event.preventDefault();
});
