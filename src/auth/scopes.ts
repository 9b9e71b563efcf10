/** What a token must have to create plants. */
export const CREATE_PLANTS = 'plants:create';
