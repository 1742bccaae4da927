/** Remembers which project was open, as `tenant/project`, so that `/` leads back to it. */
export const projectCookie = 'meridian_project'
