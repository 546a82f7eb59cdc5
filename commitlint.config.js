// Conventional Commits, as CONTRIBUTING.md describes them. `npm run lint:commits` checks every commit since this file exists.
export default {
  extends: ['@commitlint/config-conventional'],
  rules: {
    'header-max-length': [2, 'always', 80],
    'body-max-line-length': [0],
    'footer-max-line-length': [0],
    'subject-case': [0],
  },
};
