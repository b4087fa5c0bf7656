// A SurveyJS survey whose answers are randomised before it completes. The words of the survey come first, then consent, then
// the questions, each with how its answer is sent, then what was done with them.
import "survey-core/survey-core.fontless.min.css"; // without fonts: the other style sheet asks another server for them
import { Model, Serializer } from "survey-core";
import "survey-js-ui";

import { inWords, preview, SurveyClient } from "hushpoll";
import { attach, declareMarks, sayTreatment } from "hushpoll/surveyjs";

import { failure, NOT_YET, outcome, STATEMENT } from "../outcomes.js";
import questions from "./survey.json";

const UNSENT = ["remark"];
const byId = (name) => document.getElementById(name);
const say = (words) => (byId("status").textContent = words);

const client = new SurveyClient(process.env.HUSHPOLL_URL, "surveyjs-example", {
  requiredSensitive: ["smoker", "drinks", "gambles"],
  onLoss: (reason) => say(`Nothing was delivered: the server refused the report (${reason}).`),
});
addEventListener("online", () => client.flush());

async function ask() {
  byId("consent").hidden = true;
  declareMarks(Serializer);
  const survey = new Model(questions);
  sayTreatment(survey, await client.published(), UNSENT);
  let answered = false;
  await attach(survey, client, {
    unsent: UNSENT,
    onReceipt(receipt) {
      answered = true;
      say(outcome(receipt));
    },
    onFailure: (error) => say(failure(error)),
  });
  // It completes without a receipt where the server takes long; sending goes on behind it.
  survey.onComplete.add(() => answered || say(NOT_YET));
  survey.render(byId("survey"));
  globalThis.survey = survey; // for the browser's console
}

try {
  byId("preview").textContent = inWords(preview(await client.published()));
  byId("statement").textContent = STATEMENT;
  byId("agree").addEventListener("click", async () => {
    try {
      await client.giveConsent(STATEMENT);
      await ask();
    } catch (error) {
      say(failure(error));
    }
  });
  if (await client.consented()) await ask();
  else byId("consent").hidden = false;
} catch (error) {
  say(failure(error));
}
