// A survey in React: the words of the survey first, then consent, then the questions, then what became of the answers.
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

import { inWords, preview, SurveyClient } from "hushpoll";

import { failure, outcome, STATEMENT, treatment } from "../outcomes.js";

const client = new SurveyClient(process.env.HUSHPOLL_URL, "habits", { requiredSensitive: ["smoker", "breaks"] });
addEventListener("online", () => client.flush());

function App() {
  const [survey, setSurvey] = useState();
  const [agreed, setAgreed] = useState(false);
  const [said, say] = useState("");
  useEffect(() => {
    client.published().then(setSurvey, (error) => say(failure(error)));
    client.consented().then(setAgreed, (error) => say(failure(error)));
  }, []);

  const agree = () => client.giveConsent(STATEMENT).then(() => setAgreed(true), (error) => say(failure(error)));
  const submit = (form) => {
    say("Sending …");
    // A question that was skipped is not in the form's data, and is answered with the survey's word for that.
    client.submit(Object.fromEntries(form)).then((receipt) => say(outcome(receipt)), (error) => say(failure(error)));
  };

  return (
    <main>
      <h1>{survey?.title ?? "A survey"}</h1>
      {survey && (
        <details>
          <summary>What will be sent, and what it reveals</summary>
          <pre>{inWords(preview(survey))}</pre>
        </details>
      )}
      {survey && !agreed && (
        <section>
          <p>{STATEMENT}</p>
          <button type="button" onClick={agree}>I agree</button>
        </section>
      )}
      {survey && agreed && (
        <form action={submit}>
          {survey.attributes.map((attribute) => <Question key={attribute.name} {...attribute} />)}
          <button type="submit">Send</button>
        </form>
      )}
      <p role="status">{said}</p>
    </main>
  );
}

function Question({ name, question, domain, missing, oracle }) {
  const categories = missing ? domain.slice(0, -1) : domain;
  return (
    <fieldset>
      <legend>{question ?? name}</legend>
      <p className={oracle ? "randomised" : "clear"}>{treatment({ oracle })}</p>
      {categories.map((category) => (
        <label key={category}>
          <input type="radio" name={name} value={category} required={!missing} /> {category}
        </label>
      ))}
    </fieldset>
  );
}

createRoot(document.getElementById("app")).render(<StrictMode><App /></StrictMode>);
