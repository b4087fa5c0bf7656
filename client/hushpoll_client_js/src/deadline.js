/** Promises of the browser that may never settle: a prompt that nobody answers, a storage that is blocked. */

/**
 * The same promise, but rejected once the time is over.
 *
 * @template T
 * @param {PromiseLike<T>} promise
 * @param {number} milliseconds
 * @returns {Promise<T>}
 */
export async function within(promise, milliseconds) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const over = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, /** @type {Promise<never>} */ (over)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds that a run waits for the other tabs. */
const PATIENCE = 10_000;

/**
 * Run once, alone among all tabs where the browser can tell. A browser that gives no lock in time, or refuses it, keeps nothing from
 * running: two tabs then send the same bytes, which count once.
 *
 * @template T
 * @param {string} name Of the lock.
 * @param {() => Promise<T>} run
 * @returns {Promise<T>}
 */
export async function alone(name, run) {
  /** @type {Promise<T> | undefined} */
  let begun;
  const begin = () => (begun ??= run());
  /** @type {LockManager | undefined} */
  const locks = globalThis.navigator?.locks;
  if (!locks) return begin();
  /** @type {Promise<T>} */
  const given = new Promise((resolve, reject) => locks.request(name, begin).then(resolve, reject));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Promise<T>} */
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => begin().then(resolve, reject), PATIENCE);
  });
  try {
    return await Promise.race([given.catch(begin), late]);
  } finally {
    clearTimeout(timer);
  }
}
