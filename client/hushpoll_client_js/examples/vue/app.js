// A survey in Vue: the words of the survey first, then consent, then the questions, then what became of the answers.
import { createApp, h, onMounted, ref, shallowRef } from "vue";

import { inWords, preview, SurveyClient } from "hushpoll";

import { failure, outcome, STATEMENT, treatment } from "../outcomes.js";

const client = new SurveyClient(process.env.HUSHPOLL_URL, "habits", { requiredSensitive: ["smoker", "breaks"] });
addEventListener("online", () => client.flush());

// Render functions, since templates that are compiled in the browser need a policy with unsafe-eval.
const question = ({ name, question, domain, missing, oracle }) =>
  h("fieldset", { key: name }, [
    h("legend", question ?? name),
    h("p", { class: oracle ? "randomised" : "clear" }, treatment({ oracle })),
    ...(missing ? domain.slice(0, -1) : domain).map((category) =>
      h("label", { key: category }, [h("input", { type: "radio", name, value: category, required: !missing }), ` ${category}`]),
    ),
  ]);

createApp({
  setup() {
    // No deep proxies round a survey: it is read, never changed.
    const survey = shallowRef();
    const agreed = ref(false);
    const said = ref("");
    const fail = (error) => (said.value = failure(error));
    onMounted(() => {
      client.published().then((published) => (survey.value = published), fail);
      client.consented().then((given) => (agreed.value = given), fail);
    });
    const agree = () => client.giveConsent(STATEMENT).then(() => (agreed.value = true), fail);
    const submit = (event) => {
      event.preventDefault();
      said.value = "Sending …";
      // A question that was skipped is not in the form's data, and is answered with the survey's word for that.
      const answers = Object.fromEntries(new FormData(event.target));
      client.submit(answers).then((receipt) => (said.value = outcome(receipt)), fail);
    };
    return () =>
      h("main", [
        h("h1", survey.value?.title ?? "A survey"),
        survey.value &&
          h("details", [h("summary", "What will be sent, and what it reveals"), h("pre", inWords(preview(survey.value)))]),
        survey.value && !agreed.value &&
          h("section", [h("p", STATEMENT), h("button", { type: "button", onClick: agree }, "I agree")]),
        survey.value && agreed.value &&
          h("form", { onSubmit: submit }, [...survey.value.attributes.map(question), h("button", { type: "submit" }, "Send")]),
        h("p", { role: "status" }, said.value),
      ]);
  },
}).mount("#app");
