/** Promises of the browser that may never settle: a prompt that nobody answers, a storage that is blocked. */

/**
 * The same promise, or what stands in for it once the time is over; the promise goes on.
 *
 * @template T
 * @param {PromiseLike<T>} promise
 * @param {number} milliseconds
 * @param {() => T | PromiseLike<T>} [late] What stands in; an error if not given.
 * @returns {Promise<T>}
 */
export async function within(promise, milliseconds, late) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  try {
    return await Promise.race([promise, over.then(late ?? (() => Promise.reject(new Error(`no answer within ${milliseconds} ms`))))]);
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
  return within(given.catch(begin), PATIENCE, begin);
}
