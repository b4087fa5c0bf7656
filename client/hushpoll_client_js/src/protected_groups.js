/** The groups that a fairness report compares; loaded where a manifest declares them. */

import { checkKeys, LIST, must, shape } from "./core.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * The groups that a fairness report compares.
 *
 * @param {any} groups
 * @param {readonly Attribute[]} attributes
 */
export function checkProtected(groups, attributes) {
  checkKeys(groups, "protected", { attribute: 0, privileged: 0, unprivileged: 0 });
  const { attribute, privileged, unprivileged } = groups;
  must(
    [privileged, unprivileged].every(LIST[0]),
    "protected",
    groups,
    "with two lists",
  );
  const declared = attributes.find(({ name, role, number }) => name === attribute && role !== "target" && !number);
  const apartFrom = (/** @type {unknown[]} */ other) =>
    /** @type {import("./rules.js").Rule} */ ([
      (/** @type {string[]} */ group) =>
        group.length &&
        new Set(group).size === group.length &&
        group.every((category) => declared?.domain.includes(category) && !other.includes(category)),
      `different categories of ${attribute}`,
    ]);
  shape(groups, "protected", {
    attribute: [() => declared, "neither the target nor a number"],
    privileged: apartFrom([]),
    unprivileged: apartFrom(privileged),
  });
}
