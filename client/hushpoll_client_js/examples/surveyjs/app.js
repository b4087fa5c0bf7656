// A SurveyJS survey whose answers are randomised before it completes. The page is served by the site that runs the
// hushpoll server; elsewhere give the server's address, and allow this page's origin there.
import { inWords, preview, SurveyClient } from "../../src/index.js";
import { attach, declareMarks } from "../../src/surveyjs.js";

const { Model, Serializer } = globalThis.Survey;

declareMarks(Serializer);
const survey = new Model(await (await fetch("survey.json")).json());
const client = new SurveyClient(location.origin, "surveyjs-example", { requiredSensitive: ["smoker", "drinks", "gambles"] });
// What completing the survey will send, and what it reveals, before the first question.
document.getElementById("preview").textContent = inWords(preview(await client.published()));
await attach(survey, client, {
  unsent: ["remark"],
  onReceipt: ({ status, epsilon }) => {
    document.getElementById("receipt").textContent = `${status}: privacy loss ${epsilon}`;
  },
});
survey.render(document.getElementById("survey"));
globalThis.survey = survey; // for the browser's console
addEventListener("online", () => client.flush());
