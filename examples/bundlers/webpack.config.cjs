const OPTIONAL =
  /^@(fastify\/(multipart|static|view)|nestjs\/(microservices|websockets))|^class-transformer\/storage$|^pg-native$/;

module.exports = {
  mode: 'production',
  target: 'node20',
  entry: './dist/main.js',
  output: { path: `${process.cwd()}/bundle/webpack`, filename: 'host.cjs', asyncChunks: false },
  // The log and OpenAPI documents have the names of classes.
  optimization: { minimize: false },
  externalsType: 'commonjs',
  externals: [({ request }, done) => (OPTIONAL.test(request) ? done(null, request) : done())],
};
